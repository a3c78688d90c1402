"""The workloads that throughput is measured on.

Nodes have 32 cores, 256 GiB and room for 110 pods, in 3 zones. Pod i has the label app = a(i mod
10). In gangs, eight consecutive pods make a group.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL
from moorage.bench.device_workloads import (
    CLAIM_KINDS,
    EXTENDED,
    claim_name,
    extended_resource,
)

Raw = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
NAMESPACE: Final = "default"
GROUP_SIZE: Final = 8
LOW, HIGH = 0, 1000
NOMINATED: Final = "nominated"
GANG_PREEMPTION: Final = "gangpreemption"
VOLUME_PREEMPTION: Final = "volumepreemption"
DISRUPTION: Final = "disruption"
PREEMPTION_KINDS: Final = ("preemption", NOMINATED, GANG_PREEMPTION, VOLUME_PREEMPTION)
"""Kinds on a cluster full of pods of low priority, four to a node."""
VOLUME_KINDS: Final = ("volumes", VOLUME_PREEMPTION)
"""Kinds where each pod has its own volume."""


def nodes(kind: str, count: int) -> Iterator[Node]:
    for index in range(count):
        yield decode_as(raw_node(kind, index), Node)


def raw_node(kind: str, index: int) -> Raw:
    """The index-th node, as an API server sends it."""
    name = f"node-{index}"
    labels = {HOSTNAME: name, ZONE: f"zone-{index % 3}"}
    offered = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    spec: Raw = {}
    if kind == "gpu" and index % 4 == 0:
        labels["accelerator"] = "a100" if index % 8 else "h100"
        offered["example.com/gpu"] = "8"
        spec["taints"] = [{"key": "example.com/gpu", "value": "present", "effect": "NoSchedule"}]
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": offered, "capacity": offered},
    }


def pod(kind: str, index: int, scheduler_name: str = "default-scheduler") -> Pod:
    """The index-th pod to arrive."""
    raw = raw_pod(kind, index)
    raw["spec"]["schedulerName"] = scheduler_name
    return decode_as(raw, Pod)


def raw_pod(kind: str, index: int) -> Raw:
    """The index-th pod, as an API server sends it."""
    return _POD[kind](index)


def resident(index: int, node: str) -> Pod:
    """A pod that is on its node before the first pod arrives, four to a node."""
    return decode_as(raw_resident(index, node), Pod)


def raw_resident(index: int, node: str) -> Raw:
    """The same pod, as an API server sends it."""
    raw = _raw(index, {"cpu": "8", "memory": "60Gi"})
    raw["metadata"] |= {"name": f"resident-{index}", "uid": f"resident-{index}"}
    raw["spec"] |= {"nodeName": node, "priority": LOW}
    raw["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    return raw


def bystander(index: int, spec: Raw, cpu: str = "1") -> Pod:
    """A pod that is queued before the first pod arrives, and is not attempted."""
    raw = _raw(index, {"cpu": cpu, "memory": "1Gi"}, spec)
    raw["metadata"] |= {"name": f"bystander-{index}", "uid": f"bystander-{index}"}
    return decode_as(raw, Pod)


def ordinal_bystander(index: int) -> Pod:
    """One that spreads over zones among pods with its own labels, as a StatefulSet's do."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "ordinal"}},
    }
    raw = _raw(index, {"cpu": "1", "memory": "1Gi"}, {"topologySpreadConstraints": [constraint]})
    name = f"ordinal-{index}"
    labels = {"app": "ordinal", "apps.kubernetes.io/pod-index": str(index)}
    raw["metadata"] |= {"name": name, "uid": name, "labels": labels}
    return decode_as(raw, Pod)


def seeking_bystander(index: int) -> Pod:
    """One that must be near a pod with a label that no other pod looks for."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"name": f"sought-{index}"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return bystander(index, {"affinity": {"podAffinity": required}})


def _raw(index: int, requests: dict[str, str], spec: Raw | None = None) -> Raw:
    return {
        "metadata": {
            "name": f"pod-{index}",
            "namespace": NAMESPACE,
            "uid": f"pod-{index}",
            "labels": _labels(index),
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [
                {"name": "main", "image": "app:v1", "resources": {"requests": requests}}
            ],
            **(spec or {}),
        },
    }


def _labels(index: int) -> dict[str, str]:
    return {"app": f"a{index % 10}"}


def _basic(index: int) -> Raw:
    return _raw(index, {"cpu": "100m", "memory": "500Mi"})


def _varied(index: int, spec: Raw | None = None) -> Raw:
    cpu, memory = 50 + 37 * index % 400, 100 + 53 * index % 900
    return _raw(index, {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}, spec)


def _spread(index: int) -> Raw:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": _labels(index)},
    }
    return _varied(index, {"topologySpreadConstraints": [constraint]})


def _antiaffinity(index: int) -> Raw:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": _labels(index)}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return _varied(index, {"affinity": {"podAntiAffinity": required}})


def _affinity(index: int) -> Raw:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": _labels(index)}}
    weighted = {"weight": 10, "podAffinityTerm": term}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    return _varied(index, {"affinity": {"podAffinity": preferred}})


def _preemption(index: int) -> Raw:
    return _raw(index, {"cpu": "4", "memory": "10Gi"}, {"priority": HIGH})


def _disrupting(index: int) -> Raw:
    """Needs a node to itself, from which pods of four groups must be evicted."""
    return _raw(index, {"cpu": "28", "memory": "10Gi"}, {"priority": HIGH})


def _pinned(index: int) -> Raw:
    """Fits only one node, as pods of a DaemonSet do."""
    field = {"key": "metadata.name", "operator": "In", "values": [f"node-{index}"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return _varied(index, {"affinity": {"nodeAffinity": required}})


def _with_port(index: int) -> Raw:
    """Uses one of ten host ports, each of which one pod per node can have."""
    raw = _varied(index)
    raw["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8000 + index % 10}]
    return raw


def _gpu(index: int) -> Raw:
    """Every fourth pod requests GPUs of a model and tolerates their taint."""
    if index % 4:
        return _varied(index)
    model = {"key": "accelerator", "operator": "In", "values": ["a100", "h100"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [model]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    tolerations = [{"key": "example.com/gpu", "operator": "Exists"}]
    requests = {"cpu": "500m", "memory": "1Gi", "example.com/gpu": str(1 + index // 4 % 2)}
    return _raw(index, requests, {"affinity": affinity, "tolerations": tolerations})


def _member(index: int) -> Raw:
    """Eight consecutive pods are a group."""
    raw = _varied(index)
    raw["metadata"]["labels"][POD_GROUP_LABEL] = f"gang-{index // GROUP_SIZE}"
    return raw


def _preempting_member(index: int) -> Raw:
    """Eight consecutive pods are a group; each needs a node to itself, and a host port."""
    number = index // GROUP_SIZE
    raw = _raw(index, {"cpu": "28", "memory": "10Gi"}, {"priority": HIGH})
    raw["metadata"]["labels"][POD_GROUP_LABEL] = f"gang-{number}"
    port = {"containerPort": 80, "hostPort": 9000 + number % 1000}
    raw["spec"]["containers"][0]["ports"] = [port]
    return raw


def raw_group(name: str, members: int) -> Raw:
    """A group that needs all of its pods, as an API server sends it."""
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name},
        "spec": {"minMember": members},
    }


def _with_volume(index: int) -> Raw:
    return _varied(index, _volume_of(index))


def _volume_of(index: int) -> Raw:
    claim = {"persistentVolumeClaim": {"claimName": f"vol-{index}"}}
    return {"volumes": [{"name": "data", **claim}]}


def _preempting_with_volume(index: int) -> Raw:
    """Only resources are short, but there are rules about pods on the node."""
    raw, spread = _preemption(index), _spread(index)["spec"]["topologySpreadConstraints"]
    return raw | {"spec": raw["spec"] | {"topologySpreadConstraints": spread} | _volume_of(index)}


def _claiming(kind: str, index: int) -> Raw:
    """Uses a claim of its own, or one that several pods share."""
    entry = {"name": "devices", "resourceClaimName": claim_name(kind, index)}
    return _varied(index, {"resourceClaims": [entry]})


def _extended(index: int) -> Raw:
    """Requests a device by the name of one of many extended resources."""
    return _raw(index, {"cpu": "100m", "memory": "500Mi", extended_resource(index): "1"})


def _never_fits(index: int) -> Raw:
    """Every other pod is too large for any node."""
    return _raw(index, {"cpu": "64", "memory": "1Gi"}) if index % 2 else _varied(index)


_POD: Final[dict[str, Callable[[int], Raw]]] = {
    "basic": _basic,
    "varied": _varied,
    "spread": _spread,
    "antiaffinity": _antiaffinity,
    "affinity": _affinity,
    "preemption": _preemption,
    NOMINATED: _preemption,
    "daemonset": _pinned,
    "hostports": _with_port,
    "gang": _member,
    GANG_PREEMPTION: _preempting_member,
    "churn": _varied,
    "gpu": _gpu,
    "unschedulable": _never_fits,
    "volumes": _with_volume,
    "gated": _varied,
    "storm": _varied,
    "leaving": _varied,
    "seeking": _varied,
    VOLUME_PREEMPTION: _preempting_with_volume,
    DISRUPTION: _disrupting,
    **{kind: partial(_claiming, kind) for kind in CLAIM_KINDS},
    EXTENDED: _extended,
}

KINDS: Final = tuple(_POD)
"""Every kind; the first five are those compared with kube-scheduler."""

STARTUP: Final = "startup"
"""Not a workload: reads a cluster of running pods, up to the first decision."""
