"""Writes the devices of a pod to its annotations, and reads them back.

Every pod with GPUs gets `moorage.io/gpu-devices` (`0-3`), `moorage.io/gpu-milli` (of each) and
`moorage.io/gpu-node`. A restarted scheduler rebuilds its state from these. The pod also gets what
the node's device plugin reads: `alibabacloud.com/gpu-index`, or HAMi's or Volcano's devices to
allocate.
"""

from typing import Final, NamedTuple

from moorage.api import quantity
from moorage.api.annotations import read_ints
from moorage.api.pod import Pod
from moorage.policies.gpu.devices.node_devices import MOST_DEVICES, NodeDevices, Reader
from moorage.policies.gpu.devices.pod_dialects import VIRTUAL, VirtualNames
from moorage.policies.gpu.gpu_request import WHOLE, GPURequest

DEVICES: Final = "moorage.io/gpu-devices"
MILLI: Final = "moorage.io/gpu-milli"
NODE: Final = "moorage.io/gpu-node"
GPU_INDEX: Final = "alibabacloud.com/gpu-index"
ASSUME_TIME: Final = "alibabacloud.com/assume-time"


class Holding(NamedTuple):
    """Some devices of a node, and the milli held of each."""

    devices: tuple[int, ...]
    milli: int


def read(pod: Pod, node: str, asked: GPURequest, number: int) -> Holding | None:
    """What a pod bound to a node of `number` devices holds by its annotations, or None.

    They say which devices, never how many or how much of them: that is what the pod requests.
    """
    said = pod.annotations
    if pod.spec.node_name != node:
        return None
    text = said[DEVICES] if said.get(NODE) == node and DEVICES in said else said.get(GPU_INDEX)
    devices = read_ints(text, "-", most=MOST_DEVICES - 1, most_numbers=MOST_DEVICES)
    if devices is None or not len(devices) == len(set(devices)) == asked.gpus:
        return None
    if 0 < number <= max(devices):
        return None
    return Holding(devices, min(asked.milli, WHOLE))


def written(pod: Pod, node: str, held: Holding, devices: NodeDevices, now: float) -> dict[str, str]:
    """The annotations for a pod that is about to be bound."""
    indices = "-".join(map(str, held.devices))
    found = {DEVICES: indices, MILLI: str(held.milli), NODE: node}
    if devices.reader is Reader.GPU_MILLI:
        found |= {GPU_INDEX: indices, ASSUME_TIME: str(int(now * 1e9))}
    elif devices.reader is Reader.HAMI:
        found |= _virtual("hami.io/", "vgpu-devices-to-allocate", pod, node, held, devices, now)
        found["hami.io/vgpu-devices-allocated"] = found["hami.io/vgpu-devices-to-allocate"]
    elif devices.reader is Reader.VOLCANO:
        found |= _virtual("volcano.sh/", "devices-to-allocate", pod, node, held, devices, now)
        found["volcano.sh/vgpu-ids-new"] = found["volcano.sh/devices-to-allocate"]
    return found


def _virtual(
    prefix: str,
    key: str,
    pod: Pod,
    node: str,
    held: Holding,
    devices: NodeDevices,
    now: float,
) -> dict[str, str]:
    """The annotations that a vGPU device plugin reads when the kubelet allocates devices."""
    seconds = str(int(now))
    names = VIRTUAL[0] if devices.reader is Reader.HAMI else VIRTUAL[1]
    return {
        prefix + "vgpu-node": node,
        prefix + "vgpu-time": seconds,
        prefix + "bind-time": seconds,
        prefix + "bind-phase": "allocating",
        prefix + key: _by_container(pod, held, devices, names),
    }


def _by_container(pod: Pod, held: Holding, devices: NodeDevices, names: VirtualNames) -> str:
    """`uuid,NVIDIA,MiB,percent:` for each device, and `;` after each container."""
    left = list(held.devices)
    parts = []
    for container in pod.spec.containers:
        asked = {**container.resources.requests, **container.resources.limits}
        count = _amount(asked, names.number)
        taken, left = left[:count], left[count:]
        memory = _amount(asked, names.memory) or devices.memory * held.milli // WHOLE
        cores = _amount(asked, names.cores)
        parts.append("".join(f"{devices.uuids[i]},NVIDIA,{memory},{cores}:" for i in taken) + ";")
    return "".join(parts)


def _amount(asked: dict[str, str], name: str) -> int:
    return quantity.value(asked[name]) if name in asked else 0
