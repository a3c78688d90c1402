"""Objects to be judged, made of what differs from one that an API server takes."""

import copy
from typing import Any, NamedTuple

Raw = dict[str, Any]


class Judged(NamedTuple):
    """One object; `fields` are those named in the refusal, none where it is taken."""

    id: str
    raw: Raw
    fields: tuple[str, ...] = ()


CONTAINER: Raw = {"name": "c", "image": "i"}
LABELS = {"app": "web"}


def pod(**spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": {"containers": [CONTAINER], **spec},
    }


def container(**more: Any) -> Raw:
    return pod(containers=[{**CONTAINER, **more}])


def resources(**more: Any) -> Raw:
    return container(resources=more)


def spread(**more: Any) -> Raw:
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    return pod(topologySpreadConstraints=[rule])


def node_term(**expression: Any) -> Raw:
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return pod(affinity={"nodeAffinity": required})


def pod_term(**more: Any) -> Raw:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}, **more}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(affinity={"podAntiAffinity": required})


def preferred(weight: int) -> Raw:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}}
    rule = [{"weight": weight, "podAffinityTerm": term}]
    return pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rule}})


def tolerating(**toleration: Any) -> Raw:
    return pod(tolerations=[toleration])


def workload(kind: str, api: str = "apps/v1", *, without: str = "", **spec: Any) -> Raw:
    template: Raw = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    whole: Raw = {"selector": {"matchLabels": LABELS}, "template": template}
    if kind == "Job":
        whole.pop("selector")
    if kind == "ReplicationController":
        whole["selector"] = LABELS
    if kind == "StatefulSet":
        whole["serviceName"] = "web"
    whole.update(spec)
    whole.pop(without, None)
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": whole,
    }


def node(*, status: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "judged"},
        "spec": spec,
        "status": status or {},
    }


def tainted(**taint: Any) -> Raw:
    return node(taints=[taint])


def claim(**spec: Any) -> Raw:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": {**asked, **spec},
    }


def volume(**spec: Any) -> Raw:
    whole = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        **spec,
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "judged"},
        "spec": {field: value for field, value in whole.items() if value is not None},
    }


def of_kind(kind: str, api: str, *, namespaced: bool = False, **fields: Any) -> Raw:
    where = {"namespace": "default"} if namespaced else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "judged", **where}, **fields}


def named(name: str, raw: Raw | None = None) -> Raw:
    raw = copy.deepcopy(pod() if raw is None else raw)
    raw["metadata"]["name"] = name
    return raw


def labelled(**labels: str) -> Raw:
    raw = copy.deepcopy(pod())
    raw["metadata"]["labels"] = labels
    return raw
