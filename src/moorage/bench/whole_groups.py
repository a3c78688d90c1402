"""A cluster full of groups that are evicted as a whole or not at all, as Kubernetes' own may be."""

from typing import Final

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.bench import workload_kinds
from moorage.cache.cache import Cache
from moorage.cycle.profile import Profile
from moorage.framework.eviction import UNITS
from moorage.gang.directory import Directory
from moorage.gang.disruption_units import DisruptionUnits

MEMBERS: Final = 8
"""Pods of a group, each on its own node; four groups share the same eight nodes."""


def settle(cache: Cache, profile: Profile, nodes: int) -> Directory:
    """Put four pods on each node, and tell preemption which of them leave together."""
    groups = Directory()
    groups.in_use = True
    for index in range(4 * nodes):
        pod = _member(index)
        groups.put_pod(pod, 0.0)
        cache.put_pod(pod)
    for name in dict.fromkeys(_group_name(index) for index in range(4 * nodes)):
        groups.put_object(decode_as(_raw_group(name), PodGroup))
    profile.shared[UNITS] = DisruptionUnits(groups)
    return groups


def _member(index: int) -> Pod:
    raw = workload_kinds.raw_resident(index, f"node-{index // 4}")
    raw["metadata"]["labels"] = {"number": str(index)}
    raw["spec"]["schedulingGroup"] = {"podGroupName": _group_name(index)}
    return decode_as(raw, Pod)


def _group_name(index: int) -> str:
    return f"whole-{index // 4 // MEMBERS}-{index % 4}"


def _raw_group(name: str) -> workload_kinds.Raw:
    policy = {"gang": {"minCount": MEMBERS}}
    return {
        "metadata": {"name": name, "namespace": workload_kinds.NAMESPACE, "uid": name},
        "spec": {"schedulingPolicy": policy, "disruptionMode": {"all": {}}},
    }
