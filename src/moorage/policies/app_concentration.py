"""AppConcentration: limits how many pods of one application share a node, zone or rack."""

from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api import selectors
from moorage.api.node import HOSTNAME_LABEL
from moorage.api.pod import Pod
from moorage.cache.label_columns import MISSING
from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.pod_selection import Clause, PodSelection
from moorage.config.types import ConfigStruct
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unschedulable
from moorage.policies.argument_types import Count, Share

TOO_MANY: Final = "node(s) had as many pods of the application as {} may have"

Counts = NDArray[np.int64]


class ConcentrationLimit(ConfigStruct, frozen=True):
    """The most pods of one application in a domain, as a number or as a share of all.

    The share is of the application's pods, including the one to place. One pod is always allowed.
    """

    topology_key: str = HOSTNAME_LABEL
    max_pods: Count | None = None
    max_share: Share | None = None


class AppConcentration(Filter, Score, frozen=True):
    """An application is the pods of a namespace with one value of `appLabel` (app-id).

    The filter refuses a node if its domain of any of `limits` already has the maximum. The score is
    the higher, the fewer pods of the application are on the node. A node without the topology key
    is in no domain, so that limit does not apply to it.
    """

    app_label: str = "app-id"
    limits: tuple[ConcentrationLimit, ...] = (ConcentrationLimit(max_pods=1),)
    across_namespaces: bool = False

    aliases = ("AppConcentrationPlugin",)

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        return [
            f"limits[{at}]: maxPods or maxShare is needed"
            for at, limit in enumerate(args["limits"])
            if limit.get("maxPods") is None and limit.get("maxShare") is None
        ]

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        counts = self.counts(cycle)
        if counts is None:
            return
        for at, limit in reversed(list(enumerate(self.limits, start=1))):
            ids = self._domains(cycle, limit)
            there = np.bincount(ids, weights=counts, minlength=int(ids.max(initial=0)) + 1)[ids]
            full = (there >= self._most(limit, int(counts.sum()))) & (ids != MISSING)
            out[full[nodes.rows]] = at

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable(TOO_MANY.format(self.limits[code - 1].topology_key))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        counts = self.counts(cycle)
        if counts is not None:
            score_range.write_scores(MAX_SCORE / (1.0 + counts[nodes.rows]), out)

    def counts(self, cycle: Cycle) -> Counts | None:
        """How many pods of the pod's application are on each row; None if it belongs to none."""
        app = cycle.pod.labels.get(self.app_label)
        if not app:
            return None
        where = None if self.across_namespaces else frozenset({cycle.pod.namespace})
        clause = Clause(where, selectors.from_labels({self.app_label: app}))
        tally = PodCounters.of(cycle.table).selected(PodSelection((clause,), dying=False))
        return tally.count[: cycle.table.rows].astype(np.int64)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        changed = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL
        moved = ClusterEvent(Resource.ASSIGNED_POD, changed)
        own = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        return EventHint(node), EventHint(moved), EventHint(own)

    def _most(self, limit: ConcentrationLimit, pods: int) -> int:
        """How many pods fill a domain."""
        most = pods + 1 if limit.max_pods is None else limit.max_pods
        if limit.max_share is not None:
            share = Decimal(str(limit.max_share))  # as it is written: 0.58 of 50 is 29
            most = min(most, max(int(share * (pods + 1)), 1))
        return most

    def _domains(self, cycle: Cycle, limit: ConcentrationLimit) -> NDArray[np.intp]:
        """The domain of each row; for hostnames, each row is its own domain."""
        rows = cycle.table.rows
        if limit.topology_key == HOSTNAME_LABEL:
            return np.arange(1, rows + 1)
        return cycle.table.label(limit.topology_key).ids[:rows].astype(np.intp)
