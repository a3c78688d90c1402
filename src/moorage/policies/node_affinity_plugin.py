"""NodeAffinityPlugin: scores preferred node affinity once more, with a weight of its own."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from moorage.api.node_selectors import NodeTerm, compile_preferred
from moorage.api.pod import Pod
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature, PodClass
from moorage.framework.cycle import Cycle
from moorage.framework.points import Score
from moorage.framework.verdicts import MAX_SCORE

Terms = tuple[tuple[int, NodeTerm], ...]


class NodeAffinityPlugin(Score, frozen=True):
    """The node with the largest sum of matching preferred terms scores 100, others in proportion.

    kube-scheduler's NodeAffinity, which every profile has, handles required node affinity. A
    profile with this plugin scores preferred node affinity once more, with the plugin's weight.
    """

    depends = Depends.NODE

    def concerns(self) -> int:
        return Feature.NODE_AFFINITY

    def sign(self, cycle: Cycle) -> Hashable:
        return preferred(cycle.incoming.cls)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        for weight, term in preferred(cycle.incoming.cls):
            out[selector_masks.all_requirements(term, nodes)] += weight

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        highest = int(scores.max(initial=0))
        if highest > 0:
            scores *= MAX_SCORE
            scores //= highest


def preferred(cls: PodClass) -> Terms:
    """The preferred terms of a class of pods, compiled once."""
    found: Terms | None = cls.memo.get("NodeAffinityPlugin")
    if found is None:
        affinity = cls.sample.spec.affinity
        nodes = affinity.node_affinity if affinity is not None else None
        found = compile_preferred(
            nodes.preferred_during_scheduling_ignored_during_execution if nodes is not None else ()
        )
        cls.memo["NodeAffinityPlugin"] = found
    return found
