"""Decides where pods of a simulated scheduler go, by the totals of their class where those tell.

The scheduler stays whole; what is quicker is the decision alone, for pods that fit somewhere and
whose nodes differ by what is free. Every other one is made in full, and so is the first of a class.
"""

import random
from collections.abc import Callable, Iterable
from typing import Final

from moorage.api.cluster_objects import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature, PodClass, PodInfo
from moorage.config.default_plugins import ENABLED
from moorage.cycle import attempt, scoring
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import NO_TIMER, Cycle
from moorage.gang import plugin as gangs
from moorage.guard.guards import is_custom
from moorage.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.pod_topology_spread.default_constraints import DefaultSelectors
from moorage.plugins.volumes.persistent_volumes import claim_name
from moorage.simulate.class_totals import ClassTotals
from moorage.simulate.quick_attempt import QuickAttempts

KNOWN: Final = frozenset(ref.name for ref in ENABLED) | {gangs.NAME}
"""Plugins of which it is known what else they read: of any other a decision is made in full."""
BY_USAGE: Final = frozenset({NodeResourcesFit.__name__, NodeResourcesBalancedAllocation.__name__})
ELSEWHERE: Final = Feature.CLAIMS | Feature.EXTENDED | Feature.POD_AFFINITY | Feature.NODE_NAME
"""Features of pods that are decided about by more than nodes and what is free of them."""
OWNERS: Final = (Service, ReplicaSet, StatefulSet, ReplicationController)
"""Kinds that spread the pods that belong to them."""
MOST_SEEN: Final = 65_536
NO_DICE: Final = random.Random(0)
"""For cycles that ask plugins and choose nothing."""


class QuickDecisions:
    """A scheduler's `Tap`: its cache, and how it decides."""

    def __init__(self, profiles: Iterable[Profile], now: Callable[[], float]) -> None:
        self.cache = Cache()
        self._totals = {
            id(profile): _ProfileTotals(profile, self.cache, now)
            for profile in profiles
            if _is_known(profile)
        }
        self._selectors = DefaultSelectors()

    def decide(self, profile: Profile, cycle: Cycle) -> Decision | Unschedulable:
        """Decide as `moorage.cycle.attempt.run` does."""
        quick = self._totals.get(id(profile))
        if quick is None or not self._stands_alone(cycle):
            return attempt.run(profile, cycle)
        return quick.decision(cycle) or attempt.run(profile, cycle)

    def _stands_alone(self, cycle: Cycle) -> bool:
        """Whether nodes, and what is free of them, are all that the pod depends on."""
        cache, pod = self.cache, cycle.pod
        return not (
            cycle.state
            or cycle.extenders
            or cycle.timer is not NO_TIMER
            or cache.resting
            or len(cache.nominations)
            or pod.spec.node_name
            or pod.status.nominated_node_name
            or any(map(len, cycle.shared.get(gangs.NAME, ())))
            or cache.table.pods_with_affinity
            or self._may_spread(pod)
        )

    def _may_spread(self, pod: Pod) -> bool:
        objects = self.cache.objects
        there = any(objects.version(kind) for kind in OWNERS)
        return there and self._selectors.may_belong(pod, objects)


def _is_known(profile: Profile) -> bool:
    ours = not any(is_custom(type(plugin)) for plugin in profile.plugins.values())
    return ours and profile.plugins.keys() <= KNOWN


def _claims_volumes(pod: Pod) -> bool:
    return any(claim_name(pod, volume) is not None for volume in pod.spec.volumes)


class _ProfileTotals:
    """The totals of the classes that one profile has decided about more than once."""

    def __init__(self, profile: Profile, cache: Cache, now: Callable[[], float]) -> None:
        self._profile = profile
        self._cache = cache
        self._now = now
        self._quick = QuickAttempts(profile, cache, NO_DICE, self._begin)
        self._seen: dict[PodClass, bool] = {}

    def decision(self, cycle: Cycle) -> Decision | None:
        """Where the cycle's pod goes; None where that has to be decided in full."""
        info, table = cycle.incoming, cycle.table
        totals = self._quick.totals(info) if self._may_be_kept(info) else None
        if totals is None:
            return None
        total, tied = totals.best(table)
        if total < 0:
            return None
        feasible = totals.feasible(table, info.requests)
        if feasible == 1:
            return Decision(table.node(totals.row(total, 0)).name, 0, 1, len(table))
        if totals.level is None:
            totals.level = self._level(info, totals)
        row = totals.row(total, cycle.random.randrange(tied) if tied > 1 else 0)
        return Decision(table.node(row).name, total + totals.level, feasible, len(table))

    def _may_be_kept(self, info: PodInfo) -> bool:
        """Whether a class was seen before, and asks for nothing beyond nodes."""
        kept = self._seen.get(info.cls)
        if kept is not None:
            return kept
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen[info.cls] = not (info.cls.features & ELSEWHERE or _claims_volumes(info.pod))
        return False

    def _level(self, info: PodInfo, totals: ClassTotals) -> int:
        """What all nodes that are open to a class get alike."""
        scored = scoring.run(self._profile, self._begin(info), totals.open_, keep=True)
        others = (part for name, part in scored.parts.items() if name not in BY_USAGE)
        return sum(part if isinstance(part, int) else int(part[0]) for part in others)

    def _begin(self, info: PodInfo) -> Cycle:
        shared = self._profile.shared
        return Cycle(self._cache, info, random=NO_DICE, now=self._now(), shared=shared)
