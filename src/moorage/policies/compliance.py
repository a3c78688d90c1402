"""Compliance: keeps pods in the region and at the security level that their labels demand."""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.node import REGION_LABEL
from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable
from moorage.policies.label_values import NAMESPACE_LABELLED, namespace_label

OUTSIDE: Final = "node(s) were outside the region that the pod's data must stay in"
TOO_INSECURE: Final = "node(s) had a lower security level than the pod requires"
UNKNOWN_LEVEL: Final = 'pod requires the security level "{}", which is none of {}'

_OUTSIDE, _INSECURE, _UNKNOWN = 1, 2, 4


class Demand(NamedTuple):
    """The allowed regions, the lowest allowed level, and the unknown levels a pod names."""

    regions: tuple[frozenset[str], ...]
    level: int
    unknown: tuple[str, ...]


class Compliance(Filter, Score, frozen=True):
    """A pod labelled `data-region` runs on nodes of that region only, and one labelled
    `security-level` on nodes labelled with that level or a higher one.

    A namespace's labels apply to all of its pods; a pod's own labels can only add demands. A region
    is a value of the nodes' `regionLabel`, or a name that `regions` gives to several values.
    `securityLevels` lists levels from the lowest (low, medium, high). A node without a level has
    the lowest. The score prefers nodes that are no more secure than the pod needs.
    """

    data_region_label: str = "data-region"
    region_label: str = REGION_LABEL
    regions: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    security_label: str = "security-level"
    node_security_label: str = "security-level"
    security_levels: tuple[str, ...] = ("low", "medium", "high")

    aliases = ("CompliancePlugin",)
    depends = Depends.NODE

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        levels = args["securityLevels"]
        return [] if len(set(levels)) == len(levels) else ["securityLevels: one is listed twice"]

    def sign(self, cycle: Cycle) -> Hashable:
        return self.demand(cycle)

    def demand(self, cycle: Cycle) -> Demand:
        """What the pod and its namespace demand."""
        regions = self._said(cycle, self.data_region_label)
        words = self._said(cycle, self.security_label)
        known = [self.security_levels.index(word) for word in words if word in self.security_levels]
        return Demand(
            tuple(frozenset(self.regions.get(name, (name,))) for name in regions),
            max(known, default=0),
            tuple(word for word in words if word not in self.security_levels),
        )

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """Codes are sets of bits, one for each reason."""
        demand = self.demand(cycle)
        if demand.unknown:
            out[:] = _UNKNOWN
            return
        for allowed in demand.regions:
            out[~self._in_region(allowed, nodes)] |= np.int32(_OUTSIDE)
        if demand.level:
            out[self._levels(nodes) < demand.level] |= np.int32(_INSECURE)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code & _UNKNOWN:
            word, known = self.demand(cycle).unknown[0], ", ".join(self.security_levels)
            return unresolvable(UNKNOWN_LEVEL.format(word, known))
        reasons = ((_OUTSIDE, OUTSIDE), (_INSECURE, TOO_INSECURE))
        return unresolvable(*(reason for bit, reason in reasons if code & bit))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        surplus = np.maximum(self._levels(nodes) - self.demand(cycle).level, 0)
        steps = max(len(self.security_levels) - 1, 1)
        score_range.write_scores(MAX_SCORE * (1.0 - surplus / steps), out)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        return EventHint(node), EventHint(pod), NAMESPACE_LABELLED

    def _said(self, cycle: Cycle, key: str) -> tuple[str, ...]:
        """The distinct values of a label of the pod and of its namespace."""
        both = (cycle.pod.labels.get(key), namespace_label(cycle, cycle.pod, key))
        return tuple(dict.fromkeys(word for word in both if word))

    def _in_region(self, allowed: frozenset[str], nodes: Nodes) -> NDArray[np.bool_]:
        column = nodes.table.label(self.region_label)
        truth = column.truth(("in", allowed), lambda value: value in allowed)
        return truth[nodes.label(self.region_label)]

    def _levels(self, nodes: Nodes) -> NDArray[np.int64]:
        """The rank of each node's security level.  int64 (node)"""
        levels = {word: rank for rank, word in enumerate(self.security_levels)}
        words = nodes.table.label(self.node_security_label).values.values
        ranks = np.array([levels.get(word or "", 0) for word in words], dtype=np.int64)
        return ranks[nodes.label(self.node_security_label)]
