"""GPUs of a node, device by device: how much of each is held and by whom, and fragmentation."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from moorage.cache.podinfo import Feature, PodInfo
from moorage.policies.gpu.devices import annotations
from moorage.policies.gpu.devices.node_devices import NodeDevices
from moorage.policies.gpu.devices.pod_dialects import request_of_bound
from moorage.policies.gpu.gpu_request import WHOLE

UNKNOWN: Final = float("nan")
"""Written as null in JSON."""


class DeviceUse(NamedTuple):
    """Milli held and the pods that hold them, by device."""

    used: list[int]
    pods: list[list[str]]

    @property
    def share(self) -> float:
        """The held share of all devices; NaN without devices."""
        total = WHOLE * len(self.used)
        return round(min(sum(self.used), total) / total, 3) if total else UNKNOWN

    @property
    def fragmentation(self) -> float:
        """The share of idle milli that lies on partly used devices, where no whole GPU fits."""
        if not self.used:
            return UNKNOWN
        left = [max(WHOLE - each, 0) for each in self.used]
        idle = sum(left)
        return round(sum(each for each in left if each < WHOLE) / idle, 3) if idle else 0.0

    def shown(self) -> list[dict[str, Any]]:
        """One row per device."""
        return [
            {"index": index, "milli_used": used, "pods": pods}
            for index, (used, pods) in enumerate(zip(self.used, self.pods, strict=True))
        ]


def device_use(devices: NodeDevices, node: str, pods: Iterable[PodInfo]) -> DeviceUse:
    """The pods on each device: by their annotations, or else on the first devices with room."""
    found = DeviceUse([0] * devices.number, [[] for _ in range(devices.number)])
    silent = []
    for info in pods if devices.number else ():
        if not (info.cls.features & Feature.EXTENDED or info.pod.annotations):
            continue
        asked = request_of_bound(info).on(devices.memory)
        if not asked.gpus:
            continue
        held = annotations.read(info.pod, node, asked, devices.number)
        if held is None:
            silent.append((info, asked))
        else:
            _hold(found, info, held.devices, held.milli)
    for info, asked in silent:
        fitting = [i for i, used in enumerate(found.used) if used + asked.milli <= WHOLE]
        _hold(found, info, fitting[: asked.gpus], asked.milli)
    return found


def _hold(found: DeviceUse, info: PodInfo, devices: Iterable[int], milli: int) -> None:
    for device in devices:
        if device < len(found.used):
            found.used[device] += milli
            found.pods[device].append(info.pod.key)
