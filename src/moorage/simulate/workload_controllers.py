"""Workloads become pods, as their controllers would make them.

A Deployment also gets its ReplicaSet, because spreading looks at owners. DaemonSet pods are pinned
to their node by affinity and tolerate what the DaemonSet controller lets them tolerate.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from moorage.config.field_errors import InputError
from moorage.simulate.manifest_files import Manifest

Raw = dict[str, Any]

_DAEMON_TOLERATIONS: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


def expand_workloads(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Every workload in its place replaced by what its controller would create."""
    listed = list(manifests)
    nodes = [manifest.name for manifest in listed if manifest.kind == "Node"]
    expanded: list[Manifest] = []
    for manifest in listed:
        make = _CONTROLLERS.get(manifest.kind)
        if make is None:
            expanded.append(manifest)
            continue
        try:
            expanded.extend(manifest._replace(raw=raw) for raw in make(manifest.raw, nodes))
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            problem = f"{manifest.place}: {manifest.kind} {manifest.name}: {_explain(error)}"
            raise InputError([problem]) from None
    return expanded


def _explain(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return str(error)


def _deployment(raw: Raw, nodes: list[str]) -> Iterator[Raw]:
    template = _template(raw)
    suffix = hashlib.sha1(repr(template).encode(), usedforsecurity=False).hexdigest()[:9]
    name = f"{_name(raw)}-{suffix}"
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": _namespace(raw), "uid": f"replicaset-{name}"},
        "spec": {
            "replicas": _count(raw, "replicas"),
            "selector": raw["spec"].get("selector"),
            "template": template,
        },
    }
    yield from _replica_set(replica_set, nodes)


def _replica_set(raw: Raw, nodes: list[str]) -> Iterator[Raw]:
    yield raw
    for index in range(_count(raw, "replicas")):
        yield _pod(raw, f"{_name(raw)}-{index}", "apps/v1")


def _replication_controller(raw: Raw, nodes: list[str]) -> Iterator[Raw]:
    yield raw
    for index in range(_count(raw, "replicas")):
        yield _pod(raw, f"{_name(raw)}-{index}", "v1")


def _stateful_set(raw: Raw, nodes: list[str]) -> Iterator[Raw]:
    yield raw
    for index in range(_count(raw, "replicas")):
        pod = _pod(raw, f"{_name(raw)}-{index}", "apps/v1")
        volumes = [*pod["spec"].get("volumes", [])]
        for template in raw["spec"].get("volumeClaimTemplates") or ():
            claim = f"{template['metadata']['name']}-{_name(raw)}-{index}"
            volumes.append(
                {
                    "name": template["metadata"]["name"],
                    "persistentVolumeClaim": {"claimName": claim},
                }
            )
            metadata = {"name": claim, "namespace": _namespace(raw)}
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": template.get("spec", {}),
            }
        pod["spec"]["volumes"] = volumes
        yield pod


def _job(raw: Raw, nodes: list[str]) -> Iterator[Raw]:
    spec = raw["spec"]
    completions = spec.get("completions")
    parallel = _count(raw, "parallelism")
    for index in range(parallel if completions is None else min(parallel, int(completions))):
        yield _pod(raw, f"{_name(raw)}-{index}", "batch/v1")


def _daemon_set(raw: Raw, nodes: list[str]) -> Iterator[Raw]:
    for node in nodes:
        pod = _pod(raw, f"{_name(raw)}-{node}", "apps/v1")
        _pin(pod["spec"], node)
        yield pod


def _pin(spec: Raw, node: str) -> None:
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = {**(spec.get("affinity") or {})}
    node_affinity = {**(affinity.get("nodeAffinity") or {})}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [{**term, **named} for term in required.get("nodeSelectorTerms") or ()] or [named]
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    spec["affinity"] = {**affinity, "nodeAffinity": node_affinity}
    spec["tolerations"] = [
        *(spec.get("tolerations") or ()),
        *({"key": k, "operator": "Exists", "effect": effect} for k, effect in _DAEMON_TOLERATIONS),
    ]


def _pod(owner: Raw, name: str, api_version: str) -> Raw:
    template = _template(owner)
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": _namespace(owner),
            "labels": dict(metadata.get("labels") or {}),
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [
                {
                    "apiVersion": api_version,
                    "kind": owner["kind"],
                    "name": _name(owner),
                    "uid": owner["metadata"].get("uid")
                    or f"{owner['kind'].lower()}-{_name(owner)}",
                    "controller": True,
                }
            ],
        },
        "spec": dict(template["spec"]),
    }


def _template(raw: Raw) -> Raw:
    template = raw["spec"]["template"]
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise ValueError("spec.template.spec must be an object")
    return template


def _name(raw: Raw) -> str:
    return str(raw["metadata"]["name"])


def _namespace(raw: Raw) -> str:
    return str(raw["metadata"].get("namespace") or "default")


def _count(raw: Raw, field: str) -> int:
    count = raw["spec"].get(field, 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(f"spec.{field}: expected a whole number of 0 or more, not {count!r}")
    return count


_CONTROLLERS: Final[dict[str, Callable[[Raw, list[str]], Iterator[Raw]]]] = {
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replication_controller,
    "StatefulSet": _stateful_set,
    "Job": _job,
    "DaemonSet": _daemon_set,
}
