"""Test cases and their workloads, as upstream's performance-config.yaml files give them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Operation = dict[str, Any]
COUNTS = ("count", "signatureBatchSize", "steadyState", "duration")
"""What a parameter may stand for: `countParam: $nodes` sets `count`."""


class CaseError(Exception):
    """A configuration that cannot be carried out as it is written."""


class Workload(NamedTuple):
    """One size of a test case: what is to be done, and how fast upstream wants it."""

    topic: str
    case: str
    name: str
    folder: Path
    labels: frozenset[str]
    gates: dict[str, bool]
    operations: tuple[Operation, ...]
    threshold: float
    threshold_of: str
    scheduler_config: Path | None
    fault: str = ""
    """Why it cannot be carried out as it is written."""

    @property
    def key(self) -> str:
        return f"{self.case}/{self.name}"

    @property
    def nodes(self) -> int:
        """How many nodes it creates at once, to judge whether this machine can bear it."""
        counts = [op.get("count", 0) for op in self.operations if op["opcode"] == "createNodes"]
        return sum(counts)

    @property
    def pods(self) -> int:
        return sum(_pods(op) for op in self.operations)


def with_fewer_pods(workload: Workload, most: int) -> Workload:
    """The workload with at most that many pods that are measured, and a name that says so.

    Pods of groups are not fewer: a group without all of its pods waits for ever.
    """
    if not most or any(op["opcode"] == "createPodGroups" for op in workload.operations):
        return workload
    fewer = tuple(
        {**op, "count": min(int(op["count"]), most)} if op.get("collectMetrics") else op
        for op in workload.operations
    )
    if fewer == workload.operations:
        return workload
    return workload._replace(operations=fewer, name=f"{workload.name} ({most:,} pods)")


def _pods(op: Operation) -> int:
    if op["opcode"] == "createPodSets":
        return int(op["count"]) * _pods({**op["createPodsOp"], "opcode": "createPods"})
    return int(op.get("count", 0)) if op["opcode"] == "createPods" else 0


def read(root: Path) -> Iterator[Workload]:
    """Every workload below a folder."""
    for file in sorted(root.rglob("performance-config.yaml")):
        topic = file.parent.relative_to(root).as_posix()
        for case in yaml.safe_load(file.read_text()):
            for workload in case["workloads"]:
                yield _workload(topic, file.parent, case, workload)


def _workload(topic: str, folder: Path, case: dict[str, Any], raw: dict[str, Any]) -> Workload:
    config = case.get("schedulerConfigPath")
    selector = raw.get("thresholdMetricSelector") or case.get("defaultThresholdMetricSelector")
    template = case.get("defaultPodTemplatePath")
    operations, fault = _operations(case["workloadTemplate"], raw["params"], template)
    return Workload(
        topic=topic,
        case=case["name"],
        name=raw["name"],
        folder=folder,
        labels=frozenset([*case.get("labels", ()), *raw.get("labels", ())]),
        gates={**(case.get("featureGates") or {}), **(raw.get("featureGates") or {})},
        operations=operations,
        fault=fault,
        threshold=_threshold(raw.get("threshold", 0), topic),
        threshold_of=(selector or {}).get("name", "SchedulingThroughput"),
        scheduler_config=folder / config if config else None,
    )


def _operations(
    template: list[Operation], parameters: dict[str, Any], pod_template: str | None
) -> tuple[tuple[Operation, ...], str]:
    try:
        return tuple(_filled(op, parameters, pod_template) for op in template), ""
    except CaseError as error:
        return (), str(error)


def _threshold(raw: Any, topic: str) -> float:
    return float(raw.get(topic, 0) if isinstance(raw, dict) else raw)


def _filled(op: Operation, parameters: dict[str, Any], template: str | None) -> Operation:
    """An operation with its parameters in place of their names."""
    filled = dict(op)
    for key in COUNTS:
        named = filled.pop(f"{key}Param", None)
        if named is not None:
            filled[key] = _value(named, parameters)
    multiplier = filled.pop("countMultiplierParam", None)
    if multiplier is not None:
        filled["count"] *= _value(multiplier, parameters)
    if "templateParams" in filled:
        given = filled["templateParams"].items()
        filled["templateParams"] = {key: _value(value, parameters) for key, value in given}
    if filled["opcode"] == "createPodSets":
        inner = {"opcode": "createPods", **filled["createPodsOp"]}
        filled["createPodsOp"] = _filled(inner, parameters, template)
    if filled["opcode"] == "createPods" and template:
        filled.setdefault("podTemplatePath", template)
    return filled


def _value(named: Any, parameters: dict[str, Any]) -> Any:
    """A parameter by its name, `$nodes` or `$nodes|5` with a default; anything else is itself."""
    if not isinstance(named, str) or not named.startswith("$"):
        return named
    name, has_default, default = named[1:].partition("|")
    if name in parameters:
        return parameters[name]
    if has_default:
        return yaml.safe_load(default)
    raise CaseError(f"no parameter {named}")
