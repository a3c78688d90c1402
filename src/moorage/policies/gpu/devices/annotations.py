"""Writes the devices of a pod to its annotations, and reads them back.

Every pod with GPUs gets `moorage.io/gpu-devices` (`0-3`), `moorage.io/gpu-milli` (of each) and
`moorage.io/gpu-node`. A restarted scheduler rebuilds its state from these. The pod also gets what
the node's device plugin reads: `alibabacloud.com/gpu-index`, or HAMi's or Volcano's devices to
allocate.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from moorage.api import quantity
from moorage.api.pod import Pod
from moorage.policies.gpu.devices.node_devices import NodeDevices, Reader
from moorage.policies.gpu.devices.pod_dialects import VIRTUAL, VirtualNames
from moorage.policies.gpu.gpu_request import WHOLE

DEVICES: Final = "moorage.io/gpu-devices"
MILLI: Final = "moorage.io/gpu-milli"
NODE: Final = "moorage.io/gpu-node"
GPU_INDEX: Final = "alibabacloud.com/gpu-index"
ASSUME_TIME: Final = "alibabacloud.com/assume-time"


class Holding(NamedTuple):
    """Some devices of a node, and the milli held of each."""

    devices: tuple[int, ...]
    milli: int


def read(pod: Pod, node: str) -> Holding | None:
    """What a pod bound to `node` holds by its annotations, or None."""
    said = pod.annotations
    if pod.spec.node_name != node:
        return None
    if said.get(NODE) == node and DEVICES in said:
        return _holding(said[DEVICES], said.get(MILLI, str(WHOLE)))
    if GPU_INDEX in said:
        return _holding(said[GPU_INDEX], said.get("alibabacloud.com/gpu-milli", str(WHOLE)))
    return None


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


def _holding(indices: str, milli: str) -> Holding | None:
    parts: Sequence[str] = indices.split("-") if indices else ()
    if not parts or not milli.isdigit() or not all(part.isdigit() for part in parts):
        return None
    return Holding(tuple(map(int, parts)), int(milli))
