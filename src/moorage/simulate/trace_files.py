"""nodes.csv and pods.csv: a cluster and its pods as tables."""

from collections.abc import Mapping
from typing import Final

from moorage.api.meta import ObjectMeta
from moorage.api.node import HOSTNAME_LABEL, Node, NodeSpec, NodeStatus
from moorage.api.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, Toleration
from moorage.config.field_errors import InputError
from moorage.simulate.pod_template import (
    GPU,
    GPU_MILLI,
    GPU_MODEL_LABEL,
    WHOLE_GPU,
    Asked,
    Templates,
)
from moorage.simulate.scenario import Arrival, PricedNode, in_order
from moorage.simulate.size_limits import MOST_NODES, too_many
from moorage.simulate.trace_table import Row, read_each, read_table

NODE_COLUMNS: Final = (
    "name", "cpu", "memory", "pods", "gpu", "gpu_model", "price_per_hour", "labels", "taints",
    "count",
)  # fmt: skip
POD_COLUMNS: Final = (
    "name", "arrival_s", "duration_s", "cpu", "memory", "gpu", "gpu_milli", "gpu_model", "priority",
    "namespace", "group", "min_member", "labels", "node_selector", "tolerations", "end_s", "usage",
)  # fmt: skip
DEFAULT_PODS: Final = "110"
_EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)


def read_nodes(
    path: str, *, shares_gpus: bool = False, columns: Mapping[str, str] | None = None
) -> list[PricedNode]:
    """The nodes of a table; a row with a count makes that many nodes."""
    table = read_table(path, NODE_COLUMNS, "nodes", columns)
    rows = read_each(table, lambda row: _nodes(row, shares_gpus))
    found = [node for made in rows for node in made]
    if not found:
        raise InputError([f"{path}: no nodes: a cluster without nodes runs nothing"])
    _refuse_twins([each.node.name for each in found], path, "node")
    return found


def _nodes(row: Row, shares_gpus: bool) -> list[PricedNode]:
    name = row.text("name") or "node"
    count = row.whole("count", 1)
    if count > MOST_NODES:
        raise row.fault("count", too_many(MOST_NODES, "nodes of a row"))
    gpus = row.whole("gpu")
    offered = {
        "cpu": row.quantity("cpu"),
        "memory": row.quantity("memory"),
        "pods": row.quantity("pods") or DEFAULT_PODS,
        GPU: str(gpus or ""),
        GPU_MILLI: str(gpus * WHOLE_GPU or "") if shares_gpus else "",
    }
    allocatable = {resource: amount for resource, amount in offered.items() if amount}
    labels = row.pairs("labels")
    if row.text("gpu_model"):
        labels[GPU_MODEL_LABEL] = row.text("gpu_model")
    taints = read_taints(row.text("taints"), row)
    price = row.number("price_per_hour", 0.0)
    names = [name] if count == 1 else [f"{name}-{i}" for i in range(count)]
    return [PricedNode(make_node(each, allocatable, labels, taints), price) for each in names]


def make_node(
    name: str, allocatable: dict[str, str], labels: dict[str, str], taints: tuple[Taint, ...] = ()
) -> Node:
    """A node with these allocatable resources."""
    return Node(
        metadata=ObjectMeta(name=name, uid=name, labels={HOSTNAME_LABEL: name, **labels}),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(allocatable=allocatable, capacity=allocatable),
    )


def read_pods(path: str, columns: Mapping[str, str] | None = None) -> list[Arrival]:
    """The pods of a table, in order of arrival; `columns` maps our column names to the table's."""
    rows = read_each(read_table(path, POD_COLUMNS, "pods", columns), _pod)
    if not rows:
        raise InputError([f"{path}: no pods"])
    shared = any(asked.gpu and asked.gpu_milli < WHOLE_GPU for _, asked, *_ in rows)
    templates = Templates(shares_gpus=shared)
    found = [
        Arrival(time, name or f"pod-{index}", templates.of(asked), duration, group, least)
        for index, (name, asked, time, duration, group, least) in enumerate(rows)
    ]
    _refuse_twins([f"{each.template.namespace}/{each.name}" for each in found], path, "pod")
    return list(in_order(found))


def _pod(row: Row) -> tuple[str, Asked, float, float | None, str, int]:
    milli = row.whole("gpu_milli", WHOLE_GPU)
    gpus = row.whole("gpu", 1 if row.text("gpu_milli") and milli else 0)
    if milli > WHOLE_GPU or (gpus > 1 and milli < WHOLE_GPU):
        raise row.fault("gpu_milli", f"{milli} of {gpus} GPUs: at most 1000, and less only of one")
    asked = Asked(
        namespace=row.text("namespace") or "default",
        cpu=row.quantity("cpu"),
        memory=row.quantity("memory"),
        gpu=gpus if milli else 0,
        gpu_milli=milli or WHOLE_GPU,
        gpu_model=row.text("gpu_model"),
        priority=row.whole("priority", 0, -2_147_483_648),
        labels=tuple(sorted(row.pairs("labels").items())),
        node_selector=tuple(sorted(row.pairs("node_selector").items())),
        tolerations=read_tolerations(row.text("tolerations"), row),
        usage=row.number("usage", 1.0),
    )
    arrival = row.number("arrival_s", 0.0)
    group = row.text("group")
    least = row.whole("min_member", 1 if group else 0)
    if least and not group:
        raise row.fault("min_member", "is set, but the pod is in no group")
    return row.text("name"), asked, arrival, _duration(row, arrival), group, least


def _duration(row: Row, arrival: float) -> float | None:
    end = row.optional_number("end_s")
    if end is None:
        return row.optional_number("duration_s")
    if row.text("duration_s"):
        raise row.fault("end_s", "and duration_s are both set: one says the other")
    if end < arrival:
        raise row.fault("end_s", f"the pod ends at {end:g}, before it starts at {arrival:g}")
    return end - arrival


def read_taints(text: str, row: Row) -> tuple[Taint, ...]:
    """`k=v:Effect;...` as taints."""
    return tuple(
        Taint(key=key, value=value, effect=effect)
        for key, value, effect in _effects(text, row, "taints", needs_effect=True)
    )


def read_tolerations(text: str, row: Row) -> tuple[Toleration, ...]:
    """`k=v:Effect;...` as tolerations; no value tolerates any, no effect tolerates all."""
    return tuple(
        Toleration(key=key, value=value, effect=effect)
        if value
        else Toleration(key=key, operator="Exists", effect=effect)
        for key, value, effect in _effects(text, row, "tolerations", needs_effect=False)
    )


def _effects(text: str, row: Row, column: str, *, needs_effect: bool) -> list[tuple[str, str, str]]:
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        what, _, effect = part.rpartition(":") if ":" in part else (part, "", "")
        key, _, value = what.partition("=")
        if effect not in _EFFECTS and (effect or needs_effect):
            raise row.fault(column, f"{part!r} is not key=value:Effect ({', '.join(_EFFECTS)})")
        if not key.strip():
            raise row.fault(column, f"{part!r} has no key")
        found.append((key.strip(), value.strip(), effect))
    return found


def _refuse_twins(names: list[str], path: str, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError([f"{path}: {what} {name} is there twice: names are unique"])
        seen.add(name)
