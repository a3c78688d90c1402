"""DoNotSchedule constraints: refuses nodes where one more pod would exceed maxSkew.

skew = pods in the node's domain + (1 if the constraint selects the pod itself) - the least number
of pods in any domain. Pods being deleted are not counted. When a trial adds or removes such a pod,
kube-scheduler adds or subtracts it all the same, and so does this plugin.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.table import NodeTable, PodChange
from moorage.cache.topology_counts import NO_LEAST, DomainSums, IntColumn
from moorage.cache.topology_domains import NO_DOMAIN
from moorage.plugins.pod_topology_spread.spread_constraints import Constraint, SpreadPlan

FITS, SKEWED, UNLABELLED = 0, 1, 2


class UncountedPods:
    """Pods that are not counted, and that trials since PreFilter have added or removed.

    `moved` has for each hard constraint: row -> number of such pods added minus removed.
    """

    __slots__ = ("_namespace", "_trial", "moved", "plan")

    def __init__(self, plan: SpreadPlan, namespace: str, table: NodeTable) -> None:
        self.plan = plan
        self._namespace = namespace
        self._trial = Follower(table.pod_log)
        self.moved: list[dict[int, int]] = [{} for _ in plan.hard]

    def catch_up(self, table: NodeTable) -> None:
        self._trial.apply(table.pod_log, self._forget, self._count)

    def _forget(self) -> tuple[PodChange, ...]:
        self.moved = [{} for _ in self.plan.hard]
        return ()

    def _count(self, change: PodChange) -> None:
        row, info, sign = change
        pod = info.pod
        if pod.namespace != self._namespace:
            return
        for constraint, moved in zip(self.plan.hard, self.moved, strict=True):
            uncounted = pod.is_terminating or constraint.selector.selects_everything
            if uncounted and constraint.selector.matches(pod.labels):
                left = moved.pop(row, 0) + sign
                if left:
                    moved[row] = left


class PodsByDomain(NamedTuple):
    """Pods per domain.  values: int (domain)."""

    values: IntColumn
    least: int
    most: int


def write_refusals(
    counters: PodCounters, trial: UncountedPods, nodes: Nodes, out: NDArray[np.int32]
) -> None:
    """Write UNLABELLED or SKEWED for each node that the first unmet constraint refuses."""
    trial.catch_up(nodes.table)
    untouched = True
    for constraint, moved in zip(trial.plan.hard, trial.moved, strict=True):
        verdicts = _by_domain(counters, constraint, moved)
        if verdicts is None:
            continue
        domains = counters.topologies.topology(constraint.topology_key).of_row[nodes.rows]
        if untouched:
            verdicts.take(domains, out=out, mode="clip")
        else:
            np.copyto(out, verdicts[domains], where=out == FITS)
        untouched = False


def _by_domain(
    counters: PodCounters, constraint: Constraint, moved: dict[int, int]
) -> NDArray[np.int32] | None:
    """int32 (domain): the verdict on the domain's nodes; None if no node is refused."""
    domains = counters.topologies.domains(constraint.topology_key, constraint.included)
    sums = counters.selected(constraint.counted).over(domains)
    spread = _with_trial(sums, moved) if moved else sums
    least = 0 if domains.present < constraint.min_domains else spread.least
    limit = constraint.max_skew - constraint.selects_self + least
    if 0 <= limit >= spread.most:
        topology = counters.topologies.topology(constraint.topology_key)
        if topology.covers_all:
            return None
    verdicts = (spread.values > limit).astype(np.int32)
    verdicts[NO_DOMAIN] = UNLABELLED
    return verdicts


def _with_trial(sums: DomainSums, moved: dict[int, int]) -> PodsByDomain:
    values = sums.values.copy()
    for row, amount in moved.items():
        values[sums.domains.of_row[row]] += amount
    present = values[sums.domains.members > 0]
    least = int(present.min(initial=NO_LEAST))
    return PodsByDomain(values, least, int(present.max(initial=0)))
