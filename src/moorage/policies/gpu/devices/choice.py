"""Chooses the devices of a node for a pod: close together, and leaving others close together."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moorage.policies.gpu.devices.node_devices import NodeDevices

TOPOLOGY: Final = "moorage.io/gpu-topology"
"""The pod annotation: one of the kinds below, alone or after `prefer-`."""
NEAR: Final = ""
SAME_NUMA: Final = "same-numa"
SAME_NVLINK: Final = "same-nvlink"
KINDS: Final = (NEAR, SAME_NUMA, SAME_NVLINK)
"""Which domains count: NUMA domains, NVLink domains, or (unless asked) NVLink before NUMA."""

_PREFER: Final = "prefer-"


class Alignment(NamedTuple):
    """The kind of domain that should hold all GPUs of a pod, and whether it must or may."""

    kind: str = NEAR
    is_strict: bool = False
    is_preferred: bool = False


def alignment(said: Mapping[str, str], name: str = TOPOLOGY) -> Alignment:
    """The alignment that a pod's annotations ask for: `same-numa`, `prefer-same-nvlink` ..."""
    text = said.get(name, "")
    kind = text.removeprefix(_PREFER)
    if kind not in (SAME_NUMA, SAME_NVLINK):
        return Alignment()
    return Alignment(kind, text == kind, text != kind)


def domains_of(devices: NodeDevices, kind: str = NEAR) -> tuple[int, ...]:
    """The domain of each device, numbered from 0; one domain for all if the node names none."""
    if kind == SAME_NUMA:
        known = devices.numa
    elif kind == SAME_NVLINK:
        known = devices.links
    else:
        known = devices.links or devices.numa
    if len(known) < devices.number:
        return (0,) * devices.number
    order = {domain: place for place, domain in enumerate(sorted(set(known)))}
    return tuple(order[domain] for domain in known)


def choose(fitting: Sequence[int], count: int, domains: Sequence[int]) -> list[int]:
    """`count` fitting devices: from the domain they fill best, else from the emptiest ones."""
    by_domain: dict[int, list[int]] = {}
    for device in fitting:
        by_domain.setdefault(domains[device], []).append(device)
    enough = [group for group in by_domain.values() if len(group) >= count]
    if enough:
        return min(enough, key=len)[:count]
    chosen: list[int] = []
    for group in sorted(by_domain.values(), key=len, reverse=True):
        chosen += group[: count - len(chosen)]
    return sorted(chosen)
