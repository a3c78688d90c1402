"""Capacity: how many more pods of a shape fit, where, and what runs out first.

Copies of a pod that do not depend on each other fill each node independently: free resources
divided by the requests of one. Other copies are placed one after the other on a trial of the
cache, as the scheduler would place them, until none fits.
"""

from collections import Counter
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.cycle import filtering, scoring
from moorage.explain.world import Question, World
from moorage.plugins.node_resources.fit import INSUFFICIENT, TOO_MANY_PODS

ZONE: Final = "topology.kubernetes.io/zone"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
PODS: Final = "pods"
MOST_PLACED: Final = 200_000
ALONE: Final = frozenset(
    {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "NodeDeclaredFeatures",
        "VolumeZone",
    }
)
"""Plugins whose verdict on a pod does not depend on copies of it elsewhere."""

Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]


class Capacity(msgspec.Struct, frozen=True):
    """How many more pods fit, by zone and by node group, and what full nodes have run out of."""

    pod: str
    fits: int
    nodes: int
    by_zone: dict[str, int]
    by_group: dict[str, int]
    runs_out: dict[str, int]
    """The number of nodes that ran out, by resource; `pods` is the limit of pods per node."""
    message: str
    """kube's message for the first pod that does not fit; empty if a limit ended the count."""
    is_limited: bool = False


def capacity(
    world: World, raw: dict[str, Any], *, group_by: str = INSTANCE_TYPE, most: int = MOST_PLACED
) -> Capacity:
    """Count how many more copies of a pod fit, besides everything that is there."""
    pod = _shape(raw)
    with world.cache.trial():
        question = world.question(pod)
        rows = question.feasible()
        if _fills_alone(question):
            counts = _counted(question, rows)
            lacking = _lacking(question, rows, counts)
            message = _message_when_full(question, lacking)
        else:
            counts = _placed(world, pod, most)
            lacking = _lacking(question, rows, np.zeros_like(counts))
            message = _message(world, pod)
        total = int(counts.sum())
        return Capacity(
            pod=pod.key,
            fits=total,
            nodes=int(np.count_nonzero(counts)),
            by_zone=_by_label(world, counts, ZONE),
            by_group=_by_label(world, counts, group_by),
            runs_out={name: n for name, n in _number(lacking).most_common() if n},
            message="" if total >= most else message,
            is_limited=total >= most,
        )


def _shape(raw: dict[str, Any]) -> Pod:
    """A new pod like this one, without its uid and node: the pod itself may exist already."""
    pod = decode_as(raw, Pod)
    meta = msgspec.structs.replace(pod.metadata, uid="capacity")
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return msgspec.structs.replace(pod, metadata=meta, spec=spec)


def _fills_alone(question: Question) -> bool:
    names = {entry.name for entry in question.found.active}
    return names <= ALONE and not len(question.cycle.cache.nominations)


def _counted(question: Question, rows: Rows) -> Counts:
    table, incoming = question.cycle.table, question.cycle.incoming
    counts = (table.allowed_pods - table.pod_count)[: table.rows].clip(0)
    for index, amount in incoming.requests:
        if amount > 0:
            counts = np.minimum(counts, table.free[index, : table.rows] // amount)
    result: Counts = np.where(rows, counts, 0)
    return result


def _placed(world: World, pod: Pod, most: int) -> Counts:
    """Place copies one by one, each on the best node, until none fits."""
    counts = np.zeros(world.cache.table.rows, dtype=np.int64)
    for number in range(most):
        copy = _copy(world, pod, str(number))
        question = world.question(copy.pod)
        rows = question.feasible()
        if not rows.any():
            break
        scored = scoring.run(question.profile, question.cycle, rows)
        position, _ = scoring.select_host(scored, question.cycle)
        row = world.cache.table.row_of[scored.nodes.node(position).name]
        world.cache.place_on(row, copy)
        counts[row] += 1
    return counts


def _copy(world: World, pod: Pod, number: str) -> PodInfo:
    meta = msgspec.structs.replace(pod.metadata, uid=f"capacity-{number}")
    return world.cache.info(msgspec.structs.replace(pod, metadata=meta))


def _by_label(world: World, counts: Counts, key: str) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in np.flatnonzero(counts):
        found[world.cache.table.node(int(row)).labels.get(key, "")] += int(counts[row])
    return dict(sorted(found.items()))


def _lacking(question: Question, rows: Rows, counts: Counts) -> dict[str, Rows]:
    """By resource, the rows that took `counts` copies and lack it for one more."""
    table, found = question.cycle.table, dict[str, Rows]()
    for index, amount in question.cycle.incoming.requests:
        if amount > 0 and index < len(table.free):
            free = table.free[index, : len(rows)] - counts * amount
            found[table.resources.values[index]] = rows & (free < amount)
    held = table.pod_count[: len(rows)] + counts
    found[PODS] = rows & (held >= table.allowed_pods[: len(rows)])
    return found


def _number(lacking: dict[str, Rows]) -> Counter[str]:
    return Counter({name: int(np.count_nonzero(rows)) for name, rows in lacking.items()})


def _message_when_full(question: Question, lacking: dict[str, Rows]) -> str:
    """kube's message for one more copy, if only the free resources of nodes have changed."""
    diagnosis = filtering.diagnose(question.profile, question.cycle, question.found)
    if diagnosis.pre_filter is not None:
        return diagnosis.message()
    reasons = Counter(diagnosis.reasons())
    for name, count in _number(lacking).items():
        reasons[TOO_MANY_PODS if name == PODS else INSUFFICIENT.format(name)] += count
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items() if count)
    return f"0/{len(question.cycle.table)} nodes are available: {', '.join(parts)}."


def _message(world: World, pod: Pod) -> str:
    """kube's message for the first pod that does not fit."""
    question = world.question(pod)
    question.feasible()
    return filtering.diagnose(question.profile, question.cycle, question.found).message()
