"""Which devices of a node a pod gets: those that lie together, and leave the others together."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moorage.policies.gpu.devices.node_devices import NodeDevices

TOPOLOGY: Final = "moorage.io/gpu-topology"
"""The pod's annotation: one of the kinds below, alone or after `prefer-`."""
NEAR: Final = ""
SAME_NUMA: Final = "same-numa"
SAME_NVLINK: Final = "same-nvlink"
KINDS: Final = (NEAR, SAME_NUMA, SAME_NVLINK)
"""Which domains count: NUMA domains, NVLink domains, or links before NUMA where nothing is said."""

_PREFER: Final = "prefer-"


class Alignment(NamedTuple):
    """The domains that a pod's GPUs are to lie in together, and how much it wants that."""

    kind: str = NEAR
    is_strict: bool = False
    is_preferred: bool = False


def alignment(said: Mapping[str, str], name: str = TOPOLOGY) -> Alignment:
    """What a pod's annotations say of its GPUs' domains: `same-numa`, `prefer-same-nvlink` ..."""
    text = said.get(name, "")
    kind = text.removeprefix(_PREFER)
    if kind not in (SAME_NUMA, SAME_NVLINK):
        return Alignment()
    return Alignment(kind, text == kind, text != kind)


def domains_of(devices: NodeDevices, kind: str = NEAR) -> tuple[int, ...]:
    """By device, its domain of a kind, numbered from 0; one for all, if the node does not say."""
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
    """So many of the fitting devices: from the domain they fill best, else from the emptiest."""
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
