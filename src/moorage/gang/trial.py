"""Where a group would go if other pods were gone: tried on the table.

Each pod is reserved until the group is known to fit: what Reserve counts, such as devices, no other
pod of the group may get too. Then nothing is reserved any more: pods that come back to their nodes
take none of it, they have kept what they hold.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from moorage.cycle import filtering
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.cycle.scoring import IN_ORDER
from moorage.devices.claim_tracker import SHARED_IN_GROUP
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import SchedulingError
from moorage.gang.plugin import DOMAIN
from moorage.gang.transaction import Refused
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.placement import reserve

Unreserve = Callable[[Profile, Cycle, int], None]
"""Undoes Reserve for the pod of a cycle on a row."""


class Tried(NamedTuple):
    """A pod of the group that is counted on a row until the trial ends."""

    profile: Profile
    cycle: Cycle
    row: int


class Trial:
    """Tries pods on the table; a `Plan` of where a group would go."""

    def __init__(
        self,
        cycles: Cycles,
        profiles: Mapping[str, Profile],
        unreserve: Unreserve,
        by_quota: bool = False,
    ) -> None:
        self._cycles = cycles
        self._profiles = profiles
        self._unreserve = unreserve
        self._by_quota = by_quota
        self.placed: list[Tried] = []

    def attempt_one(
        self, queued: QueuedPod, nodes: frozenset[str] | None, claims: set[str]
    ) -> Tried | Refused:
        """Count a pod on the row where it would go."""
        profile = self._profiles[queued.info.pod.spec.scheduler_name]
        cycle = self._cycles.begin(queued, profile)
        cycle.extenders = NO_EXTENDERS  # as in kube-scheduler, a trial asks plugins only
        if nodes is not None:
            cycle.state[DOMAIN] = nodes
        cycle.state[SHARED_IN_GROUP] = claims
        cycle.state[IN_ORDER] = True
        decided = self._cycles.decide(profile, cycle)
        if isinstance(decided, Unschedulable):
            return Refused(queued, cycle, decided)
        row = cycle.table.row_of[decided.node]
        cycle.cache.place_on(row, queued.info)
        tried = Tried(profile, cycle, row)
        try:
            refused = reserve(profile, cycle, cycle.table.node(row))
        except SchedulingError:
            self.undo(tried)
            raise
        if refused is not None:
            self.undo(tried)
            return Refused(queued, cycle, refused)
        return tried

    def undo(self, placed: Tried) -> None:
        self._unreserve(*placed)
        placed.cycle.cache.displace(placed.cycle.incoming)

    def keep(self, placed: list[Tried]) -> None:
        """The group fits: leave its pods on their rows, and give back what was reserved."""
        self.placed = placed
        for tried in reversed(placed):
            self._unreserve(*tried)

    def still_fits(self, row: int) -> bool:
        """Whether the group's pods on a row still pass the filters there, as the table is now.

        With quotas, a pod that comes back on another row may matter too: if the group has no pod on
        the row, its first pod is checked.
        """
        here = [imagined for imagined in self.placed if imagined.row == row]
        asked = here or (self.placed[:1] if self._by_quota else [])
        return all(map(_could_be_there, asked))


def _could_be_there(imagined: Tried) -> bool:
    profile, cycle, row = imagined
    cycle.cache.displace(cycle.incoming)
    try:
        outcome = Filtering(cycle)
        filtering.pre_filter(profile, cycle, outcome)
        if outcome.diagnosis.pre_filter is not None:
            return False
        return filtering.refusal_with_nominated_pods(cycle, outcome.active, row) is None
    except SchedulingError:
        return False
    finally:
        cycle.cache.place_on(row, cycle.incoming)
