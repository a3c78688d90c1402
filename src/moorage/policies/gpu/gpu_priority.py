"""GPUPriorityPlugin: GPU pods go to GPU nodes, and other pods stay off them."""

from collections.abc import Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MIN_SCORE, Rejection, unresolvable
from moorage.policies.argument_types import Percent
from moorage.policies.gpu import gpu_resources

NO_GPU: Final = "node(s) had no GPU"
KEPT_FOR_GPU_PODS: Final = "node(s) were kept for GPU pods"

_NO_GPU, _KEPT = 1, 2


class GPUPriorityPlugin(Filter, Score, frozen=True):
    """A pod that requests a GPU scores `gpuWeight` (100) on nodes with GPUs and 0 elsewhere.

    Any other pod scores `gpuNodeScore` (10) on GPU nodes and `plainNodeScore` (50) elsewhere. The
    filter keeps GPU pods off nodes without a GPU. With `reserveGPUNodes`, it also keeps all other
    pods off GPU nodes. A GPU is any resource named in `resourceNames`.
    """

    gpu_weight: Percent = 100
    gpu_node_score: Percent = 10
    plain_node_score: Percent = 50
    reserve_gpu_nodes: bool = False
    resource_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES

    aliases = ("GPUPriority",)
    depends = Depends.NODE

    def sign(self, cycle: Cycle) -> Hashable:
        return self.needs_gpu(cycle)

    def needs_gpu(self, cycle: Cycle) -> bool:
        """Whether the pod requests a GPU."""
        return gpu_resources.requested_gpus(cycle.incoming, cycle.table, self.resource_names) > 0

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        has_gpu = gpu_resources.offered_gpus(nodes, self.resource_names) > 0
        if self.needs_gpu(cycle):
            out[~has_gpu] = _NO_GPU
        elif self.reserve_gpu_nodes:
            out[has_gpu] = _KEPT

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(NO_GPU if code == _NO_GPU else KEPT_FOR_GPU_PODS)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        has_gpu = gpu_resources.offered_gpus(nodes, self.resource_names) > 0
        if self.needs_gpu(cycle):
            out[:] = np.where(has_gpu, self.gpu_weight, MIN_SCORE)
        else:
            out[:] = np.where(has_gpu, self.gpu_node_score, self.plain_node_score)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE
        return (EventHint(ClusterEvent(Resource.NODE, changed)),)
