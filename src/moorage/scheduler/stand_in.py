"""Which profile stands in for which scheduler."""

from typing import NamedTuple

from moorage.config.standing import TAKE
from moorage.config.types import SchedulerConfiguration


class StandIn(NamedTuple):
    """A profile, the scheduler it stands in for, and the Lease of that; is its absence expiry?"""

    profile: str
    scheduler: str
    namespace: str
    lease: str
    absence_counts: bool = False


def stand_ins(configuration: SchedulerConfiguration) -> tuple[StandIn, ...]:
    """Everyone that a configuration lets stand in."""
    return tuple(
        StandIn(
            profile.scheduler_name,
            one.scheduler_name,
            one.lease_namespace,
            one.lease_name,
            absence_counts=one.without_lease == TAKE,
        )
        for profile in configuration.profiles
        for one in profile.stand_in_for
    )
