"""Cases written by hand, brought into the shape of the conformance cases.

A node, a pod and what is wanted take a line each; what is not said is plain: four cores and room
for ten pods on every node, no requests in any pod, the namespace `default`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.differential.words import Json

FOLDER = Path(__file__).parent
ALLOCATABLE = {"cpu": "4", "memory": "8Gi", "pods": "10"}
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def written() -> Iterator[tuple[str, Json]]:
    """Every case, under the name of its file and its own words."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text()):
            yield f"{path.stem}: {entry['case']}", entry


def case(entry: Json) -> Json:
    """The case as `moorage evaluate` reads it."""
    made: Json = {
        "id": entry["case"],
        "nodes": [node(name, told or {}) for name, told in entry["nodes"].items()],
        "pods": [pod(told) for told in entry.get("pods", ())],
        "pod": pod({"name": "pending", **(entry.get("pod") or {})}),
        **entry.get("objects", {}),
    }
    if "profile" in entry:
        made["config"] = {**CONFIG, "profiles": [entry["profile"]]}
    return made


def node(name: str, told: Json) -> Json:
    return {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **told.get("labels", {})},
        },
        "spec": {key: told[key] for key in ("taints", "unschedulable") if key in told},
        "status": {
            "allocatable": {**ALLOCATABLE, **told.get("allocatable", {})},
            **{key: told[key] for key in ("images", "declaredFeatures") if key in told},
        },
    }


def pod(told: Json) -> Json:
    metadata: Json = {
        "name": told["name"],
        "namespace": told.get("namespace", "default"),
        "uid": told["name"],
        "labels": told.get("labels", {}),
    }
    if told.get("terminating"):
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    container: Json = {"name": "c", "image": told.get("image", "app")}
    container["resources"] = {"requests": told.get("requests", {})}
    if "ports" in told:
        container["ports"] = told["ports"]
    spec: Json = {"containers": [container], **told.get("spec", {})}
    if "node" in told:
        spec["nodeName"] = told["node"]
    if "priority" in told:
        spec["priority"] = told["priority"]
    return {"metadata": metadata, "spec": spec, "status": told.get("status", {})}


def told(entry: Json, outcome: Json) -> dict[str, Any]:
    """Of an outcome, what the entry wants to know, in the entry's own shape."""
    return {key: _PARTS[key](wanted, outcome) for key, wanted in entry["want"].items()}


def _rejected(wanted: Json, outcome: Json) -> Json:
    refused = {name: v["reasons"] for name, v in (outcome.get("rejected") or {}).items()}
    return {name: reasons[0] if len(reasons) == 1 else reasons for name, reasons in refused.items()}


def _scores(wanted: Json, outcome: Json) -> Json:
    scores = outcome.get("scores") or {}
    return {
        plugin: {name: parts.get(plugin, 0) for name, parts in scores.items()} for plugin in wanted
    }


def _victims(wanted: Json, outcome: Json) -> Json:
    candidates = (outcome.get("preemption") or {}).get("candidates") or {}
    return {
        name: [victim.removeprefix("default/") for victim in candidate["victims"]]
        for name, candidate in candidates.items()
    }


_PARTS: dict[str, Callable[[Json, Json], Any]] = {
    "feasible": lambda _, outcome: sorted(outcome.get("feasible") or ()),
    "rejected": _rejected,
    "refused": lambda _, outcome: ((outcome.get("preFilter") or {}).get("reasons") or [""])[0],
    "message": lambda _, outcome: outcome.get("message"),
    "scores": _scores,
    "best": lambda _, outcome: sorted(outcome.get("best") or ()),
    "victims": _victims,
    "violations": lambda _, outcome: {
        name: candidate["pdbViolations"]
        for name, candidate in ((outcome.get("preemption") or {}).get("candidates") or {}).items()
    },
    "chosen": lambda _, outcome: sorted((outcome.get("preemption") or {}).get("chosen") or ()),
    "eligible": lambda _, outcome: (outcome.get("preemption") or {}).get("eligible"),
}
