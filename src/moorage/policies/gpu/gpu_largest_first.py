"""GPULargestFirst: of pods that wait together, those with the most GPUs go first.

Many nodes can serve a small pod; few can serve a large one. Serving large pods first places more
GPUs when the cluster is nearly full. Pods wait together if they arrived in the same window of time.
No pod is overtaken by pods of later windows.
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
    """Pods that wait together, the largest first; equal ones in order of arrival."""
    return sorted(pods, key=lambda pod: -pod.size)


def _size(queued: QueuedPod) -> int:
    try:
        asked = gpu_request(queued.info)
    except InvalidRequest:
        return 0
    return asked.size
