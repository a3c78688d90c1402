"""GPULargestFirst: of pods that wait together, those with the most GPUs go first.

What a small pod leaves free, another small pod may fill; what a large one needs, few nodes have. A
cluster that is nearly full places more GPUs that way. Pods wait together that came in one window of
time: nobody is overtaken by pods of later windows.
"""

import math
from typing import Annotated

import msgspec

from moorage.framework.points import QueueSort
from moorage.framework.queued_pod import QueuedPod
from moorage.policies.gpu.devices.pod_dialects import InvalidRequest, gpu_request
from moorage.policies.gpu.gpu_request import GPURequest

Key = tuple[int, int, int, float]


class GPULargestFirst(QueueSort, frozen=True):
    """By priority; then by windows of `windowSeconds` (10); then by GPUs, the most first."""

    window_seconds: Annotated[float, msgspec.Meta(gt=0)] = 10.0

    def sort_key(self, queued: QueuedPod) -> Key:
        window = math.floor(queued.timestamp / self.window_seconds)
        return -queued.info.priority, window, -_size(queued), queued.timestamp


def in_order(pods: list[GPURequest]) -> list[GPURequest]:
    """Pods that wait together, the largest first; equal ones as they came."""
    return sorted(pods, key=lambda pod: -pod.size)


def _size(queued: QueuedPod) -> int:
    try:
        asked = gpu_request(queued.info)
    except InvalidRequest:
        return 0
    return asked.size
