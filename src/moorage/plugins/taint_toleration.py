"""TaintToleration: refuses nodes with untolerated taints; PreferNoSchedule lowers the score."""

from collections.abc import Callable, Hashable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.taints import Taint, find_untolerated, tolerates
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.score_range import normalize_by_maximum
from moorage.framework.verdicts import Rejection, unresolvable

UNTOLERATED = "node(s) had untolerated taint(s)"

HARD = frozenset({"NoSchedule", "NoExecute"})
SOFT = "PreferNoSchedule"


class TaintToleration(PreFilter, Filter, PreScore, Score, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    depends = Depends.NODE
    needs: ClassVar[Needs] = {"score": "preScore"}
    scores_in_range = True
    reads_scores_only = True

    def sign(self, cycle: Cycle) -> Hashable:
        return cycle.pod.spec.tolerations

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out[:] = per_taint_set(nodes, lambda taints: is_repelled(pod, taints))

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(UNTOLERATED)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> None:
        return None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        out[:] = per_taint_set(nodes, lambda taints: count_dissuading(pod, taints))

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        normalize_by_maximum(scores, reverse=True)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)
        return EventHint(node, after_node_change, per_spec=True), EventHint(pod)


def per_taint_set(nodes: Nodes, rule: Callable[[tuple[Taint, ...]], int]) -> NDArray[np.int64]:
    """The value of `rule` for each node's taints, called once per distinct set.  int64 (node)."""
    sets = nodes.table.taint_sets.values
    answers = np.fromiter((rule(taints) for taints in sets), dtype=np.int64, count=len(sets))
    return answers[nodes.taint_set]


def is_repelled(pod: Pod, taints: tuple[Taint, ...]) -> int:
    return int(find_untolerated(taints, pod.spec.tolerations, HARD) is not None)


def count_dissuading(pod: Pod, taints: tuple[Taint, ...]) -> int:
    """How many PreferNoSchedule taints the pod does not tolerate."""
    against = [t for t in pod.spec.tolerations if not t.effect or t.effect == SOFT]
    soft = (taint for taint in taints if taint.effect == SOFT)
    return sum(not any(tolerates(t, taint) for t in against) for taint in soft)


def after_node_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    was_open = old is not None and not is_repelled(pod, old.taints)
    return Hint.QUEUE if not is_repelled(pod, new.taints) and not was_open else Hint.SKIP
