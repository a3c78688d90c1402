"""DynamicResources: pods that claim devices are refused until Moorage can allocate devices.

A pod without claims passes as it does in kube-scheduler: no filter, a score of 0, nothing to
reserve. A pod with claims is refused outright. Placed without its devices it could not run, and
the node it was put on would be wrong.
"""

from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import (
    Filter,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    Reserve,
    Score,
)
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable

UNSUPPORTED: Final = (
    "dynamic resource allocation is not supported yet by Moorage: the pod has spec.resourceClaims; "
    "leave it to kube-scheduler with spec.schedulerName"
)


class DynamicResources(
    PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind, frozen=True
):
    filter_timeout: str = "10s"
    binding_timeout: str = "10m0s"

    depends = Depends.NODE
    needs: ClassVar[Needs] = {"filter": "preFilter", "score": "preFilter"}
    scores_in_range = True

    def sign(self, cycle: Cycle) -> tuple[()]:
        return ()

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return None

    def concerns(self) -> int:
        return Feature.CLAIMS

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip:
        return unresolvable(UNSUPPORTED) if pod.spec.resource_claims else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if pod.spec.resource_claims:
            out.fill(1)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(UNSUPPORTED)

    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> Rejection:
        """There is no claim to take back, which kube-scheduler does not comment on either."""
        return unschedulable()

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        out.fill(0)

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip:
        return SKIP

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None

    def events(self) -> tuple[EventHint, ...]:
        """Nothing but another spec can help a pod that was refused."""
        return (EventHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE)),)
