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
import json
from typing import Any, Final, NamedTuple

from moorage.api.node import Node
from moorage.api.resource_amounts import node_allocatable
from moorage.policies.gpu.devices.pod_dialects import CARD_MODEL, COUNT, SIMULATED
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
            return _registered(_decode(said[name]), reader, node)
    offered, labels = node_allocatable(node), node.labels
    by_label = labels.get(COUNT, "")
    counted = offered.get(COUNT, int(by_label) if by_label.isdigit() else 0)
    count = counted or sum(offered.get(name, 0) for name in GPU_RESOURCE_NAMES)
    count = min(max(count, 0), MOST_DEVICES)
    is_shared = labels.get(SHARES) == "true" or SIMULATED in offered
    shares = Reader.MOORAGE if is_shared else Reader.NOBODY
    memory = labels.get(PRODUCT_MEMORY, "")
    return NodeDevices(
        count,
        labels.get(CARD_MODEL) or said.get(CARD_MODEL) or labels.get(PRODUCT, ""),
        int(memory) if memory.isdigit() else 0,
        Reader.GPU_MILLI if counted else shares,
        (),
        _domains(node, NUMA, count) or _equal_domains(node, count),
        _domains(node, LINKS, count),
    )


def _registered(devices: list[dict[str, Any]], reader: Reader, node: Node) -> NodeDevices:
    devices = devices[:MOST_DEVICES]
    count = len(devices)
    numa = tuple(int(device.get("numa", 0)) for device in devices)
    return NodeDevices(
        count,
        node.labels.get(PRODUCT) or (str(devices[0]["type"]) if devices else ""),
        min((int(device["devmem"]) for device in devices), default=0),
        reader,
        tuple(str(device["id"]) for device in devices),
        _domains(node, NUMA, count) or numa,
        _domains(node, LINKS, count),
        frozenset(i for i, device in enumerate(devices) if not device.get("health", True)),
    )


def _decode(text: str) -> list[dict[str, Any]]:
    """A register: JSON, or HAMi's or Volcano's list: `,` between fields, `:` after devices."""
    try:
        if text.lstrip().startswith("["):
            return [{"type": "", "devmem": 0, **device} for device in json.loads(text)]
        return [_fields(line.split(",")) for line in text.split(":") if line.strip()]
    except (ValueError, LookupError, TypeError):
        return []


def _fields(fields: list[str]) -> dict[str, Any]:
    hami = ["id", "count", "devmem", "devcore", "type", "numa", "health"]
    volcano = ["id", "count", "devmem", "type", "health"]
    names = hami if len(fields) >= len(hami) else volcano
    found: dict[str, Any] = dict(zip(names, fields, strict=False))
    found["devmem"], found["numa"] = int(found["devmem"]), int(found.get("numa", 0))
    found["health"] = found.get("health", "true") == "true"
    return found


def _domains(node: Node, name: str, count: int) -> tuple[int, ...]:
    """The domain of each device, as in `0,0,1,1`; empty if the text has another form."""
    text = node.annotations.get(name) or node.labels.get(name, "")
    parts = [part.strip() for part in text.replace("_", ",").split(",")]
    if len(parts) != count or not all(part.isdigit() for part in parts):
        return ()
    return tuple(int(part) for part in parts)


def _equal_domains(node: Node, count: int) -> tuple[int, ...]:
    text = node.labels.get(PER_NUMA) or node.annotations.get(PER_NUMA, "")
    size = int(text) if text.isdigit() else 0
    return tuple(index // size for index in range(count)) if size > 0 else ()
