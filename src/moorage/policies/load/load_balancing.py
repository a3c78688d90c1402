"""LoadBalancingPlugin: the less a node's most requested resource is used, the better its score."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config.field_errors import invalid
from moorage.config.scheduling_policy import UNKNOWN_RESOURCE, is_known_resource
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.points import Score
from moorage.framework.verdicts import MAX_SCORE
from moorage.policies.load import requested_load


class LoadBalancingPlugin(Score, frozen=True):
    """100 less the percentage of the node's most requested resource, with the pod on the node.

    Usage is the sum of requests. `resources` lists the resources that count: cpu, memory and the
    number of pods. kube-scheduler's LeastAllocated takes the mean, so that idle cpu makes up for
    full memory. Here the fullest resource decides.
    """

    resources: tuple[str, ...] = ("cpu", "memory", requested_load.PODS)

    aliases = ("LoadBalancing",)
    depends = Depends.USAGE

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        if not args["resources"]:
            return ["resources: at least one is needed"]
        return [
            f"resources[{at}]: {invalid(name, UNKNOWN_RESOURCE)}"
            for at, name in enumerate(args["resources"])
            if not is_known_resource(name)
        ]

    def sign(self, cycle: Cycle) -> Hashable:
        return tuple(self._asked(cycle))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        busiest = np.zeros(nodes.count)
        for resource, more in zip(self.resources, self._asked(cycle), strict=True):
            share = requested_load.used_share(nodes, resource, more)
            np.fmax(busiest, share, out=busiest)
            if more:
                busiest[np.isnan(share)] = 1.0
        score_range.write_scores(MAX_SCORE * (1.0 - busiest), out)

    def _asked(self, cycle: Cycle) -> list[int]:
        incoming, table = cycle.incoming, cycle.table
        return [
            requested_load.pod_request(incoming, table, resource) for resource in self.resources
        ]
