"""Which devices of a node a pod gets: those that lie together, and leave the others together."""

from collections.abc import Sequence
from typing import Final

from moorage.policies.gpu.devices.node_devices import NodeDevices

SAME_NUMA: Final = "same-numa"
SAME_NVLINK: Final = "same-nvlink"
"""What a pod's topology annotation may demand: all its GPUs in one such domain."""


def domains_of(devices: NodeDevices, demanded: str = "") -> tuple[int, ...]:
    """By device, the domain that counts: the demanded one, or links before NUMA; all in one,
    where the node does not say."""
    if demanded == SAME_NUMA:
        known = devices.numa
    elif demanded == SAME_NVLINK:
        known = devices.links
    else:
        known = devices.links or devices.numa
    return known or (0,) * devices.number


def most_in_one(fitting: Sequence[int], domains: Sequence[int]) -> int:
    """How many of some devices lie in one domain."""
    counts: dict[int, int] = {}
    for device in fitting:
        domain = domains[device] if device < len(domains) else 0
        counts[domain] = counts.get(domain, 0) + 1
    return max(counts.values(), default=0)


def choose(fitting: Sequence[int], count: int, domains: Sequence[int]) -> list[int]:
    """So many of the fitting devices: from the domain they fill best, else from the fullest."""
    by_domain: dict[int, list[int]] = {}
    for device in fitting:
        by_domain.setdefault(domains[device] if device < len(domains) else 0, []).append(device)
    enough = [group for group in by_domain.values() if len(group) >= count]
    if enough:
        return min(enough, key=len)[:count]
    chosen: list[int] = []
    for group in sorted(by_domain.values(), key=len, reverse=True):
        chosen += group[: count - len(chosen)]
    return sorted(chosen)
