"""Another scheduler's Lease, as this process sees it: has it expired?

A Lease has expired when its own duration has passed, by our clock, since we last saw it change. Its
content is compared with the previous content, never with the time, so clocks may differ. A Lease
that cannot be read has not expired; the time before the failed read does not count.
"""

from typing import Any, Final, NamedTuple

from moorage.config.standin_config import TAKE
from moorage.config.types import SchedulerConfiguration

DURATION_SECONDS: Final = 15.0
"""The duration of a Lease that is absent or has none: kube-scheduler's default, in seconds."""

Spec = dict[str, Any]


class LeaseSight:
    """The last content of one Lease, and since when; whether its absence counts as expiry."""

    def __init__(self, *, absence_counts: bool) -> None:
        self._absence_counts = absence_counts
        self._spec: Spec | None = None
        self._since: float | None = None

    def seen(self, spec: Spec | None, now: float) -> None:
        """The Lease was read, or found to be absent."""
        if self._since is None or spec != self._spec:
            self._since = now
        self._spec = spec

    def unseen(self) -> None:
        """The Lease could not be read."""
        self._since = None

    def has_expired(self, now: float) -> bool:
        """Whether the Lease has not changed for its duration."""
        if self._since is None or (self._spec is None and not self._absence_counts):
            return False
        return now - self._since >= self.seconds

    @property
    def is_absent(self) -> bool:
        """Whether the Lease was found to be absent."""
        return self._since is not None and self._spec is None

    @property
    def seconds(self) -> float:
        """The duration of the Lease, in seconds."""
        return float((self._spec or {}).get("leaseDurationSeconds") or DURATION_SECONDS)

    @property
    def holder(self) -> str:
        """The last holder; empty if it is not known."""
        return str((self._spec or {}).get("holderIdentity") or "")


class StandIn(NamedTuple):
    """A profile, the scheduler it stands in for, its Lease, and whether absence is expiry."""

    profile: str
    scheduler: str
    namespace: str
    lease: str
    absence_counts: bool = False


def stand_ins(configuration: SchedulerConfiguration) -> tuple[StandIn, ...]:
    """Every profile that stands in for another scheduler, by the configuration."""
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
