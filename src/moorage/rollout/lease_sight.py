"""Another scheduler's Lease as we see it: has it expired?

A Lease has expired when its own duration has passed since we last saw it change, by our clock: what
is written in it is compared with what was written before, never with the time, so clocks may
differ. Doubt is no expiry: while the Lease cannot be read nothing is known, and the time before
does not count.
"""

from typing import Any, Final, NamedTuple

from moorage.config.standin_config import TAKE
from moorage.config.types import SchedulerConfiguration

DURATION_SECONDS: Final = 15.0
"""How long a Lease lasts that does not say, or is not there: kube-scheduler's default."""

Spec = dict[str, Any]


class LeaseSight:
    """What one Lease said last, and since when; whether its absence counts as expiry."""

    def __init__(self, *, absence_counts: bool) -> None:
        self._absence_counts = absence_counts
        self._spec: Spec | None = None
        self._since: float | None = None

    def seen(self, spec: Spec | None, now: float) -> None:
        """The Lease was read, or found not to be there."""
        if self._since is None or spec != self._spec:
            self._since = now
        self._spec = spec

    def unseen(self) -> None:
        """The Lease could not be read."""
        self._since = None

    def has_expired(self, now: float) -> bool:
        """Whether its holder has been silent for as long as it may."""
        if self._since is None or (self._spec is None and not self._absence_counts):
            return False
        return now - self._since >= self.seconds

    @property
    def is_absent(self) -> bool:
        """Whether it was found not to be there."""
        return self._since is not None and self._spec is None

    @property
    def seconds(self) -> float:
        """How long its holder may be silent."""
        return float((self._spec or {}).get("leaseDurationSeconds") or DURATION_SECONDS)

    @property
    def holder(self) -> str:
        """Who wrote it last; empty where nobody is known."""
        return str((self._spec or {}).get("holderIdentity") or "")


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
