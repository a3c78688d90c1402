"""NodeDevices: which GPUs a node has, and who reads which of them a pod gets.

A share of a GPU has an effect only if a device plugin enforces it and reads which device the
scheduler chose. A node that names no such reader offers whole GPUs only.

| reader    | the node says so by                                                                  |
|-----------|--------------------------------------------------------------------------------------|
| HAMI      | annotation `hami.io/node-nvidia-register`                                            |
| VOLCANO   | annotation `volcano.sh/node-vgpu-register`                                           |
| GPU_MILLI | the resource or label `alibabacloud.com/gpu-count`                                   |
| MOORAGE   | label `moorage.io/gpu-shares: "true"`: something of yours reads `moorage.io/gpu-*`;  |
|           | or, in simulations, the resource `moorage/gpu-milli`                                 |
"""

import enum
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from moorage.api.annotations import MOST_JSON_BYTES, read_int, read_ints, read_json
from moorage.api.node import Node
from moorage.api.resource_amounts import node_allocatable
from moorage.policies.gpu.devices.pod_dialects import CARD_MODEL, COUNT, MOST_MEMORY, SIMULATED
from moorage.policies.gpu.gpu_resources import GPU_RESOURCE_NAMES

HAMI_REGISTER: Final = "hami.io/node-nvidia-register"
VOLCANO_REGISTER: Final = "volcano.sh/node-vgpu-register"
SHARES: Final = "moorage.io/gpu-shares"
NUMA: Final = "moorage.io/gpu-numa"
LINKS: Final = "moorage.io/gpu-nvlink"
PER_NUMA: Final = "moorage.io/gpus-per-numa"
PRODUCT: Final = "nvidia.com/gpu.product"
PRODUCT_MEMORY: Final = "nvidia.com/gpu.memory"

MOST_DEVICES: Final = 64
"""More than any machine has."""


class Reader(enum.Enum):
    """Who reads which device a pod gets."""

    NOBODY = ""
    GPU_MILLI = "gpu-milli"
    HAMI = "hami"
    VOLCANO = "volcano"
    MOORAGE = "moorage"


class RegisteredDevice(msgspec.Struct, frozen=True):
    """A device as HAMi's or Volcano's device plugin registers it; `devmem` is in MiB."""

    id: str
    devmem: Annotated[int, msgspec.Meta(ge=0, le=MOST_MEMORY)] = 0
    type: str = ""
    numa: Annotated[int, msgspec.Meta(ge=-1, le=MOST_DEVICES)] = 0
    health: bool = True


class NodeDevices(NamedTuple):
    """The devices of a node: their number, model and MiB, and their domains, by index, if known.

    `uuids` are set if a device plugin registered them. `sick` are the indices of unhealthy devices.
    """

    number: int = 0
    model: str = ""
    memory: int = 0
    reader: Reader = Reader.NOBODY
    uuids: tuple[str, ...] = ()
    numa: tuple[int, ...] = ()
    links: tuple[int, ...] = ()
    sick: frozenset[int] = frozenset()


def read_devices(node: Node) -> NodeDevices:
    """What a node's labels, annotations and resources say about its GPUs."""
    said = node.annotations
    for name, reader in ((HAMI_REGISTER, Reader.HAMI), (VOLCANO_REGISTER, Reader.VOLCANO)):
        if said.get(name):
            return _registered(_decode(said[name]) or (), reader, node)
    offered, labels = node_allocatable(node), node.labels
    counted = offered.get(COUNT, read_int(labels.get(COUNT)) or 0)
    count = counted or sum(offered.get(name, 0) for name in GPU_RESOURCE_NAMES)
    count = min(max(count, 0), MOST_DEVICES)
    is_shared = labels.get(SHARES) == "true" or SIMULATED in offered
    shares = Reader.MOORAGE if is_shared else Reader.NOBODY
    return NodeDevices(
        count,
        labels.get(CARD_MODEL) or said.get(CARD_MODEL) or labels.get(PRODUCT, ""),
        read_int(labels.get(PRODUCT_MEMORY), most=MOST_MEMORY) or 0,
        Reader.GPU_MILLI if counted else shares,
        (),
        _domains(node, NUMA, count) or _equal_domains(node, count),
        _domains(node, LINKS, count),
    )


def _registered(devices: Sequence[RegisteredDevice], reader: Reader, node: Node) -> NodeDevices:
    devices = devices[:MOST_DEVICES]
    count = len(devices)
    numa = tuple(device.numa for device in devices)
    return NodeDevices(
        count,
        node.labels.get(PRODUCT) or (devices[0].type if devices else ""),
        min((device.devmem for device in devices), default=0),
        reader,
        tuple(device.id for device in devices),
        _domains(node, NUMA, count) or numa,
        _domains(node, LINKS, count),
        frozenset(i for i, device in enumerate(devices) if not device.health),
    )


def _decode(text: str) -> list[RegisteredDevice] | None:
    """A register: JSON, or HAMi's or Volcano's list: `,` between fields, `:` after devices."""
    if text.lstrip().startswith("["):
        return read_json(text, list[RegisteredDevice])
    lines = [line for line in text[:MOST_JSON_BYTES].split(":") if line.strip()]
    devices = [_fields(line.split(",")) for line in lines]
    found = [device for device in devices if device is not None]
    return found if len(found) == len(devices) else None


def _fields(fields: list[str]) -> RegisteredDevice | None:
    hami = ["id", "count", "devmem", "devcore", "type", "numa", "health"]
    volcano = ["id", "count", "devmem", "type", "health"]
    names = hami if len(fields) >= len(hami) else volcano
    found = dict(zip(names, fields, strict=False))
    memory = read_int(found.get("devmem"), most=MOST_MEMORY)
    numa = read_int(found.get("numa", "0"), most=MOST_DEVICES)
    if memory is None or numa is None:
        return None
    is_healthy = found.get("health", "true") == "true"
    return RegisteredDevice(found["id"], memory, found.get("type", ""), numa, is_healthy)


def _domains(node: Node, name: str, count: int) -> tuple[int, ...]:
    """The domain of each device, as in `0,0,1,1`; empty if the text has another form."""
    text = node.annotations.get(name) or node.labels.get(name, "")
    found = read_ints(text.replace("_", ","), ",", most=(1 << 31) - 1, most_numbers=MOST_DEVICES)
    return found if found is not None and len(found) == count else ()


def _equal_domains(node: Node, count: int) -> tuple[int, ...]:
    text = node.labels.get(PER_NUMA) or node.annotations.get(PER_NUMA, "")
    size = read_int(text) or 0
    return tuple(index // size for index in range(count)) if size > 0 else ()
