"""Objects of an author who means harm, in a namespace and on a node of his own.

Each bears a few hostile values at places of `tests.fuzz.places`; the rest of it is such that an API
server takes it. None is entitled to room that others use: its pods fit nowhere, or are on his node.
"""

import copy
import random
from typing import Any, Final, NamedTuple

import msgspec

from moorage.api import (
    affinity,
    pod_spec,
    resource_claims,
    resource_slices,
    storage,
    taints,
    volumes,
)
from moorage.api.kinds import KINDS
from moorage.api.meta import LabelSelector, LabelSelectorRequirement, OwnerReference
from tests.fuzz.hostile_values import values
from tests.fuzz.places import KEY, Place, Step, places, plain

Raw = dict[str, Any]

EVIL: Final = "evil"
EVIL_NODE: Final = "evil-0"
VICTIMS_NODE: Final = "victim-3"
"""The one with GPUs."""
NOWHERE: Final = {"pool": "nowhere"}
SELECTOR: Final[Raw] = {"matchLabels": {"app": "evil"}}
TERM: Final[Raw] = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["evil"]}]}
POD_TERM: Final[Raw] = {"labelSelector": SELECTOR, "topologyKey": "kubernetes.io/hostname"}
REQUEST: Final[Raw] = {
    "name": "r",
    "exactly": {"deviceClassName": "evil", "allocationMode": "ExactCount", "count": 1},
}
RESULT: Final[Raw] = {"request": "r", "driver": "evil.example", "pool": "evil", "device": "d"}
CLAIM_SPEC: Final[Raw] = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "evil",
}
GROUP_SPEC: Final[Raw] = {"minMember": 1}

TYPICAL: Final[dict[Any, Raw]] = {
    OwnerReference: {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs"},
    LabelSelector: SELECTOR,
    LabelSelectorRequirement: {"key": "app", "operator": "In", "values": ["evil"]},
    affinity.NodeSelectorRequirement: {"key": "pool", "operator": "In", "values": ["evil"]},
    affinity.NodeSelectorTerm: TERM,
    affinity.NodeSelector: {"nodeSelectorTerms": [TERM]},
    affinity.PreferredSchedulingTerm: {"weight": 1, "preference": TERM},
    affinity.PodAffinityTerm: POD_TERM,
    affinity.WeightedPodAffinityTerm: {"weight": 1, "podAffinityTerm": POD_TERM},
    affinity.TopologySpreadConstraint: {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": SELECTOR,
    },
    pod_spec.Container: {"name": "c", "image": "i"},
    pod_spec.ContainerPort: {"containerPort": 80},
    pod_spec.PodResourceClaim: {"name": "c", "resourceClaimName": "evil"},
    pod_spec.PodSchedulingGate: {"name": "example.com/gate"},
    pod_spec.PodCondition: {"type": "Ready", "status": "False"},
    taints.Taint: {"key": "evil", "value": "x", "effect": "NoSchedule"},
    taints.Toleration: {"key": "evil", "operator": "Exists"},
    volumes.Volume: {"name": "v"},
    volumes.PersistentVolumeClaimVolume: {"claimName": "evil"},
    volumes.EphemeralVolume: {"volumeClaimTemplate": {"spec": CLAIM_SPEC}},
    volumes.PersistentVolumeClaimTemplate: {"spec": CLAIM_SPEC},
    storage.CSINodeDriver: {"name": "evil.example", "nodeID": "evil"},
    resource_claims.DeviceRequest: REQUEST,
    resource_claims.ExactDeviceRequest: REQUEST["exactly"],
    resource_claims.DeviceSubRequest: {"name": "a", **REQUEST["exactly"]},
    resource_claims.DeviceRequestAllocationResult: RESULT,
    resource_claims.ResourceClaimConsumerReference: {"resource": "pods", "name": "p", "uid": "p"},
    resource_claims.DeviceConstraint: {"requests": ["r"], "matchAttribute": "evil.example/a"},
    resource_claims.AllocatedDeviceStatus: {k: v for k, v in RESULT.items() if k != "request"},
    resource_claims.DeviceToleration: {"key": "evil", "operator": "Exists"},
    resource_slices.DeviceSelector: {"cel": {"expression": "true"}},
    resource_slices.Device: {"name": "d"},
    resource_slices.DeviceCapacity: {"value": "1"},
    resource_slices.Counter: {"value": "1"},
    resource_slices.CounterSet: {"name": "s", "counters": {KEY: {"value": "1"}}},
    resource_slices.DeviceCounterConsumption: {
        "counterSet": "s",
        "counters": {"c": {"value": "1"}},
    },
    resource_slices.DeviceTaint: {"key": "evil", "effect": "NoSchedule"},
    resource_slices.OpaqueDeviceConfiguration: {"driver": "evil.example", "parameters": {}},
}
"""What a struct needs beside the field that is changed, for an API server to take it."""


def _node() -> Raw:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "spec": {
            "unschedulable": True,
            "taints": [{"key": "pool", "value": "evil", "effect": "NoSchedule"}],
        },
        "status": {"allocatable": room, "capacity": room},
    }


BEARERS: Final[dict[str, Raw]] = {
    "Node": _node(),
    "Service": {"spec": {"selector": {"app": "evil"}, "ports": [{"port": 80}]}},
    "ReplicationController": {"spec": {"selector": {"app": "evil"}, "replicas": 1}},
    "ReplicaSet": {"spec": {"selector": SELECTOR, "replicas": 1}},
    "StatefulSet": {"spec": {"selector": SELECTOR, "replicas": 1}},
    "PodDisruptionBudget": {"spec": {"selector": SELECTOR, "minAvailable": 1}},
    "PriorityClass": {"value": 1},
    "PersistentVolume": {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "evil",
            "hostPath": {"path": "/x"},
        }
    },
    "PersistentVolumeClaim": {"spec": CLAIM_SPEC},
    "StorageClass": {"provisioner": "evil.example"},
    "CSINode": {"spec": {"drivers": [{"name": "evil.example", "nodeID": "evil"}]}},
    "CSIDriver": {"spec": {"attachRequired": True}},
    "CSIStorageCapacity": {"storageClassName": "evil", "capacity": "1Gi"},
    "VolumeAttachment": {
        "spec": {
            "attacher": "evil.example",
            "source": {"persistentVolumeName": "evil"},
            "nodeName": EVIL_NODE,
        }
    },
    "ResourceSlice": {
        "spec": {
            "driver": "evil.example",
            "nodeName": EVIL_NODE,
            "pool": {"name": "evil", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d"}],
        }
    },
    "DeviceClass": {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
    "DeviceTaintRule": {
        "spec": {
            "deviceSelector": {"driver": "evil.example", "pool": "evil", "device": "d"},
            "taint": {"key": "evil", "value": "x", "effect": "NoSchedule"},
        }
    },
    "ResourceClaim": {"spec": {"devices": {"requests": [REQUEST]}}},
    "ResourceClaimTemplate": {"spec": {"spec": {"devices": {"requests": [REQUEST]}}}},
    "PodGroup": {"spec": GROUP_SPEC},
    "CompositePodGroup": {
        "spec": {
            "schedulingPolicy": {"basic": {}},
            "workloadRef": {"workloadName": "evil", "templateName": "t"},
        }
    },
    "ElasticQuota": {"spec": {"min": {"cpu": "1"}, "max": {"cpu": "2"}}},
}
TEMPLATE: Final[Raw] = {
    "metadata": {"labels": {"app": "evil"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


class Hostile(NamedTuple):
    """Objects as they are written one after the other, and what in them is hostile.

    `takes_room`: they use what others might have had, so others may go elsewhere, but they do go.
    """

    raws: tuple[Raw, ...]
    changes: tuple[str, ...]
    takes_room: bool = False


def drawn(rng: random.Random, number: int) -> Hostile:
    """Any object: mostly one place of it is hostile, sometimes a few are."""
    place = rng.choice(places())
    return hostile(place, rng, number, more=rng.choice((0, 0, 0, 1, 3)))


def hostile(place: Place, rng: random.Random, number: int, more: int = 0) -> Hostile:
    """An object that is hostile at a place, and at some more."""
    raw, changes = bearer(place.kind, number, rng), []
    also = [each for each in places() if each.kind == place.kind] if more else []
    chosen = (place, *rng.sample(also, more))
    if raw["kind"] == "Pod" and any(map(_is_room, chosen)):
        raw["spec"] |= {"nodeName": "", "nodeSelector": NOWHERE}
    for each in chosen:
        there = _at(raw, each.path)
        value = rng.choice(values(each, there))
        if _put(raw, each, value):
            changes.append(f"{each} = {_short(value)}")
    return _with_users(raw, tuple(changes))


def with_value(place: Place, value: Any, number: int = 0) -> Hostile:
    """An object with this value at a place."""
    raw = bearer(place.kind, number, random.Random(0))
    _put(raw, place, value)
    return _with_users(raw, (f"{place} = {_short(value)}",))


def _with_users(raw: Raw, changes: tuple[str, ...]) -> Hostile:
    """The object with a pod of its author's that makes it matter, on his own node."""
    kind, name = raw["kind"], raw["metadata"].get("name", "")
    takes_room = kind == "Pod" and raw["spec"].get("nodeName") == VICTIMS_NODE
    beside: list[Raw] = []
    spec: Raw = {}
    if kind in ("ResourceClaim", "DeviceClass", "ResourceSlice", "DeviceTaintRule"):
        claim = name
        if kind != "ResourceClaim":
            claim = f"claim-of-{name}"[:250]
            request = {"deviceClassName": name if kind == "DeviceClass" else EVIL}
            requests = [{"name": "r", "exactly": {**REQUEST["exactly"], **request}}]
            beside.append(_written("ResourceClaim", claim, {"devices": {"requests": requests}}))
        spec["resourceClaims"] = [{"name": "c", "resourceClaimName": claim}]
    elif kind in ("PersistentVolumeClaim", "PersistentVolume", "StorageClass"):
        claim = name
        if kind != "PersistentVolumeClaim":
            claim = f"claim-of-{name}"[:250]
            of = name if kind == "StorageClass" else EVIL
            beside.append(
                _written("PersistentVolumeClaim", claim, {**CLAIM_SPEC, "storageClassName": of})
            )
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    elif kind not in ("PodGroup", "ElasticQuota", "PodDisruptionBudget", "Service"):
        return Hostile((raw,), changes, takes_room)
    labels = {"app": "evil"}
    if kind == "PodGroup":
        labels["scheduling.x-k8s.io/pod-group"] = name
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}}
    user = _written(
        "Pod",
        f"user-of-{name}"[:250],
        {
            "schedulerName": "default-scheduler",
            "nodeSelector": {"pool": "evil"},
            "containers": [container],
            **spec,
        },
        labels,
    )
    return Hostile((raw, *beside, user), changes)


def _written(kind: str, name: str, spec: Raw, labels: Raw | None = None) -> Raw:
    meta = {"name": name, "namespace": EVIL, "labels": labels or {}}
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta, "spec": spec}


def bearer(kind: str, number: int, rng: random.Random) -> Raw:
    """An object of the kind that means no harm."""
    found = KINDS[kind]
    name = f"evil-{kind.lower()}-{number}"
    meta: Raw = {"name": name, "labels": {"app": "evil"}}
    if found.namespaced:
        meta["namespace"] = EVIL
    raw = copy.deepcopy(pod(rng) if kind == "Pod" else BEARERS.get(kind, {}))
    if kind in ("ReplicaSet", "StatefulSet", "ReplicationController"):
        raw["spec"]["template"] = copy.deepcopy(TEMPLATE)
    return {"apiVersion": found.api_version, "kind": kind, "metadata": meta, **raw}


def pod(rng: random.Random) -> Raw:
    """A pod that fits nowhere, one that its author has put on his node, or one of others' care."""
    spec: Raw = {
        "schedulerName": "default-scheduler",
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}},
        ],
        "tolerations": [{"key": "pool", "operator": "Exists"}],
        "priority": 0,
    }
    way = rng.randrange(5)
    if way == 0:
        spec["nodeName"] = EVIL_NODE
    elif way == 4:
        spec["nodeName"] = VICTIMS_NODE
    elif way == 1:
        spec |= {"schedulerName": "somebody-elses", "nodeName": EVIL_NODE}
    else:
        spec["schedulerName"] = rng.choice(("default-scheduler", "policies"))
        spec["nodeSelector"] = NOWHERE
        expression = {"key": "pool", "operator": "In", "values": ["nowhere"]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    return {"spec": spec}


def _is_room(place: Place) -> bool:
    """Whether a place says how much its pod takes."""
    return not {"requests", "limits", "resources", "overhead", "ports"}.isdisjoint(place.path)


def _at(raw: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        try:
            raw = raw[step]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _put(raw: Any, place: Place, value: Any) -> bool:
    """Set the place; what is missing on the way there is made as its struct needs it."""
    annotation: Any = KINDS[place.kind].struct
    here = raw
    for step, after in zip(place.path[:-1], place.path[1:], strict=True):
        annotation = _inner(annotation, step)
        there = _at(here, (step,))
        if not isinstance(there, list if isinstance(after, int) else dict):
            if there is not None:
                return False  # another hostile value is there
            there = _made(annotation, after)
        if isinstance(there, list) and not there:
            there = _made(annotation, after)
        _set(here, step, there)
        here = there
    _set(here, place.path[-1], value)
    return True


def _set(here: Any, step: Step, value: Any) -> None:
    if isinstance(here, list) and not here:
        here.append(value)
    else:
        here[step] = value


def _made(annotation: Any, after: Step) -> Any:
    """An empty list or map, or a struct as it is usually."""
    annotation = plain(annotation)
    if isinstance(after, int):
        return [_made(_inner(annotation, 0), "")]
    return copy.deepcopy(TYPICAL.get(annotation, {}))


def _inner(annotation: Any, step: Step) -> Any:
    """The type of what is one step further in."""
    annotation = plain(annotation)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        fields = msgspec.structs.fields(annotation)
        return next(field.type for field in fields if field.encode_name == step)
    args = getattr(annotation, "__args__", (str,))
    return args[0] if isinstance(step, int) else args[-1]


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 80 else f"{said[:60]}... ({len(said)} characters)"
