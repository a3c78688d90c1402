"""Decides where a scheduler's pods go, by the totals of their class if possible.

Only the decision is quicker; the rest of the scheduler is unchanged. It applies to pods that fit
somewhere and for which nodes differ by free resources alone. Every other decision is made in full,
and so are the first ones of a class after nodes have changed, and attempts that are sampled.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from moorage.api.cluster_objects import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.api.pod import Pod
from moorage.batching.class_totals import ClassTotals, nodes_version
from moorage.batching.quick_attempt import QuickAttempts
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature, PodInfo
from moorage.config.default_plugins import ENABLED
from moorage.cycle import attempt, scoring
from moorage.cycle.attempt import Decision, Parts, Unschedulable
from moorage.cycle.profile import Profile, ScoreEntry
from moorage.framework.cycle import Cycle
from moorage.framework.draws import NODE
from moorage.gang import plugin as gangs
from moorage.guard.guards import is_custom
from moorage.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.pod_topology_spread.default_constraints import DefaultSelectors
from moorage.plugins.volumes.persistent_volumes import claim_name

KNOWN: Final = frozenset(ref.name for ref in ENABLED) | {gangs.NAME}
"""Plugins known to read nothing unexpected; with any other plugin decisions are made in full."""
FIT, BALANCE = NodeResourcesFit.__name__, NodeResourcesBalancedAllocation.__name__
ELSEWHERE: Final = Feature.CLAIMS | Feature.EXTENDED | Feature.POD_AFFINITY | Feature.NODE_NAME
"""Features of pods for which more counts than node objects and free resources."""
OWNERS: Final = (Service, ReplicaSet, StatefulSet, ReplicationController)
"""Kinds for which default constraints spread the pods that belong to them."""
FULL_FIRST: Final = 4
"""The first decisions of a class made in full: computing totals costs as much as a few of them."""
MOST_SEEN: Final = 65_536
_KEY: Final = "QuickDecisions"


class QuickDecisions:
    """A scheduler's `Tap`: its cache, and how it decides.

    With `tells_parts`, decisions have each plugin's score for the node.
    """

    def __init__(self, now: Callable[[], float], *, tells_parts: bool = False) -> None:
        self.cache = Cache()
        self._now = now
        self._tells_parts = tells_parts
        self._selectors = DefaultSelectors()

    def decide(self, profile: Profile, cycle: Cycle) -> Decision | Unschedulable:
        """Decide as `moorage.cycle.attempt.run` does."""
        quick = self._totals_of(profile) if self._stands_alone(cycle) else None
        decided = None if quick is None else quick.decision(cycle)
        return attempt.run(profile, cycle) if decided is None else decided

    def _totals_of(self, profile: Profile) -> "_ProfileTotals | None":
        found: _ProfileTotals | None
        try:
            found = profile.shared[_KEY]
        except KeyError:
            found = profile.shared[_KEY] = (
                _ProfileTotals(profile, self.cache, self._now, self._tells_parts)
                if _is_known(profile)
                else None
            )
        return found

    def _stands_alone(self, cycle: Cycle) -> bool:
        """Whether the decision depends on node objects and free resources alone."""
        cache, pod = self.cache, cycle.pod
        return not (
            cycle.state
            or cycle.extenders
            or cycle.timer.sampled
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


class _Shares(NamedTuple):
    """Scores of plugins that are equal on all open nodes; 0 for the two that read free resources.

    `level` is their sum.
    """

    level: int
    by_name: dict[str, int]
    balance: ScoreEntry | None


class _ProfileTotals:
    """The totals of classes for which one profile has made a few decisions in full."""

    def __init__(
        self, profile: Profile, cache: Cache, now: Callable[[], float], tells_parts: bool
    ) -> None:
        self._profile = profile
        self._cache = cache
        self._now = now
        self._tells_parts = tells_parts
        self._quick = QuickAttempts(profile, cache, self._begin)
        self._seen: dict[tuple[str, int], tuple[tuple[int, int], int]] = {}
        """Spec -> (version of the nodes, number of decisions made in full at that version)."""

    def decision(self, cycle: Cycle) -> Decision | None:
        """The decision for the cycle's pod; None if it must be made in full."""
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
        shares: _Shares = totals.shares or self._share_out(info, totals)
        row = totals.row(total, cycle.draw(NODE, tied) if tied > 1 else 0)
        parts = self._parts(cycle, shares, row, total) if self._tells_parts else ()
        score = total + shares.level
        return Decision(table.node(row).name, score, feasible, len(table), parts=parts)

    def _may_be_kept(self, info: PodInfo) -> bool:
        """Whether totals may be used for pods of this spec.

        They must have no feature of `ELSEWHERE` and no volume claims, and `FULL_FIRST` decisions
        must have been made in full since nodes last changed.
        """
        asks = info.cls.features
        if asks & ELSEWHERE or (asks & Feature.VOLUMES and _claims_volumes(info.pod)):
            return False
        alike, nodes = info.cls.like_spec, nodes_version(self._cache.table)
        then, times = self._seen.get(alike, (nodes, 0))
        if then != nodes:
            times = 0
        if times >= FULL_FIRST:
            return True
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen[alike] = nodes, times + 1
        return False

    def _share_out(self, info: PodInfo, totals: ClassTotals) -> _Shares:
        """Each plugin's score on all nodes open to a class, if it is equal on all of them."""
        cycle = self._begin(info)
        scored = scoring.run(self._profile, cycle, totals.open_, keep=True)
        given = {
            name: 0 if name in (FIT, BALANCE) else part if isinstance(part, int) else int(part[0])
            for name, part in scored.parts.items()
        }
        entries = self._profile.plan(info).score if BALANCE in given else ()
        balance = next((entry for entry in entries if entry.name == BALANCE), None)
        totals.shares = found = _Shares(sum(given.values()), given, balance)
        return found

    def _parts(self, cycle: Cycle, shares: _Shares, row: int, total: int) -> Parts:
        """Each plugin's weighted score for the row, whose sum without `level` is `total`."""
        found, balance = shares.by_name.copy(), shares.balance
        if balance is not None:
            out = np.zeros(1, dtype=np.int64)
            balance.plugin.score_all(cycle, cycle.pod, Nodes.one(cycle.table, row), out)
            found[BALANCE] = out.item(0) * balance.weight
        if FIT in found:
            found[FIT] = total - found.get(BALANCE, 0)
        return tuple(found.items())

    def _begin(self, info: PodInfo) -> Cycle:
        shared = self._profile.shared
        return Cycle(self._cache, info, now=self._now(), shared=shared)
