"""Turns the node and pod shapes of scenario files into nodes and pod requests."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from moorage.api import quantity
from moorage.api.node import ZONE_LABEL
from moorage.config.field_errors import InputError, Path, Report, invalid
from moorage.simulate import trace_files
from moorage.simulate.pod_template import GPU, GPU_MILLI, GPU_MODEL_LABEL, WHOLE_GPU, Asked
from moorage.simulate.scenario import PricedNode
from moorage.simulate.scenario_schema import NodeShape, PodShape, quantity_text
from moorage.simulate.trace_table import Row

T = TypeVar("T")


def make_nodes(
    shape: NodeShape, count: int, shares_gpus: bool, report: Report, path: Path
) -> list[PricedNode]:
    """So many nodes of a shape, dealt round-robin over its zones."""
    named = {"cpu": shape.cpu, "memory": shape.memory, "pods": shape.pods}
    offered = {name: quantity_text(amount) for name, amount in named.items()}
    resources = {name: quantity_text(amount) for name, amount in shape.resources.items()}
    if shape.gpu:
        offered[GPU] = str(shape.gpu)
        if shares_gpus:
            offered[GPU_MILLI] = str(shape.gpu * WHOLE_GPU)
    allocatable = {name: amount for name, amount in {**offered, **resources}.items() if amount}
    for name in ("cpu", "memory", "pods"):
        _check_quantity(offered[name], report, (*path, name))
    for name, amount in resources.items():
        _check_quantity(amount, report, (*path, "resources", name))
    taints = _read(trace_files.read_taints, shape.taints, report, (*path, "taints"))
    labels = dict(shape.labels)
    if shape.gpu_model:
        labels[GPU_MODEL_LABEL] = shape.gpu_model
    found = []
    for index in range(count):
        zone = {ZONE_LABEL: shape.zones[index % len(shape.zones)]} if shape.zones else {}
        name = shape.name if count == 1 else f"{shape.name}-{index}"
        node = trace_files.make_node(name, allocatable, {**labels, **zone}, taints)
        found.append(PricedNode(node, shape.price_per_hour, shape.spot, shape.failures))
    return found


def asked_of(shape: PodShape, report: Report, path: Path) -> Asked:
    """What the pods of a shape ask for."""
    cpu = _check_quantity(quantity_text(shape.cpu), report, (*path, "cpu"))
    memory = _check_quantity(quantity_text(shape.memory), report, (*path, "memory"))
    if shape.gpu > 1 and shape.gpu_milli < WHOLE_GPU:
        report.problem((*path, "gpuMilli"), invalid(shape.gpu_milli, "only of a single GPU"))
    return Asked(
        namespace=shape.namespace,
        cpu=cpu,
        memory=memory,
        gpu=shape.gpu,
        gpu_milli=shape.gpu_milli,
        gpu_model=shape.gpu_model,
        priority=shape.priority,
        labels=tuple(sorted(shape.labels.items())),
        node_selector=tuple(sorted(shape.node_selector.items())),
        tolerations=_read(
            trace_files.read_tolerations, shape.tolerations, report, (*path, "tolerations")
        ),
        scheduler=shape.scheduler_name,
        usage=shape.usage,
    )


def _check_quantity(text: str, report: Report, path: Path) -> str:
    """The quantity; a text that is not one is reported, and becomes empty."""
    try:
        if text and quantity.parse(text).milli_value < 0:
            report.problem(path, invalid(text, "is negative"))
            return ""
    except quantity.QuantityError as error:
        report.problem(path, str(error))
        return ""
    return text


def _read(
    read: Callable[[str, Row], tuple[T, ...]], texts: Iterable[str], report: Report, path: Path
) -> tuple[T, ...]:
    """Taints or tolerations; a problem with them is reported at `path`."""
    try:
        return read(";".join(texts), Row({}, ""))
    except InputError as error:
        report.problem(path, error.problems[0].removeprefix(": "))
        return ()
