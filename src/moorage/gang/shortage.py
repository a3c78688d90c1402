"""Why a group does not run: how many of its pods fit, which one does not, and what is missing."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api import quantity
from moorage.api.meta import ResourceList
from moorage.api.resource_amounts import format_amount as amount
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Rejection
from moorage.gang import hierarchy
from moorage.gang.group import Group
from moorage.gang.plugin import DOMAIN
from moorage.gang.topology import Choice
from moorage.gang.transaction import Misfit, Refused

NO_LABEL: Final = "No node has the label that it is to be packed by."


def explain_misfit(blocker: Refused, missing: Sequence[QueuedPod]) -> str:
    """Why a pod fits nowhere and, if a resource is short, by how much."""
    why = blocker.why
    if isinstance(why, Rejection):
        return why.message
    parts = [why.message]
    reasons = why.diagnosis.reasons() if why.diagnosis.pre_filter is None else {}
    wanted = _sums(queued.info for queued in missing)
    names = blocker.cycle.table.resources.values
    for index, asked in blocker.cycle.incoming.requests:
        if f"Insufficient {names[index]}" in reasons:
            parts.append(_short(blocker, index, asked, len(missing), wanted[index]))
    return " ".join(parts)


def lacking(table: NodeTable, wanted: ResourceList, own: Iterable[PodInfo]) -> str:
    """What the cluster lacks of a group's `minResources`; empty if it lacks nothing.

    What the group's own pods use counts as free.
    """
    used, parts = _sums(own), []
    for name, text in sorted(wanted.items()):
        value = quantity.milli_value(text) if name == "cpu" else quantity.value(text)
        index = table.resources.find(name)
        free = _free(table, len(table.allocatable) if index is None else index)
        there = int(free.sum()) + (used.get(index, 0) if index is not None else 0)
        if there < value:
            parts.append(
                f"minResources asks for {amount(name, value)} {name}, {amount(name, there)} is "
                f"free on {int((free > 0).sum())} nodes: {amount(name, value - there)} more is "
                "needed."
            )
    return " ".join(parts)


def short_in(table: NodeTable, rows: NDArray[np.intp], pods: Sequence[PodInfo]) -> str:
    """Which resources the nodes of these rows have too little of for all of these pods."""
    parts = []
    for index, wanted in _sums(pods).items():
        name = table.resources.values[index]
        free = np.zeros(len(rows), dtype=np.int64)
        if index < len(table.allocatable):
            free = (table.allocatable[index, rows] - table.requested[index, rows]).clip(min=0)
        total = int(free.sum())
        if total < wanted:
            parts.append(
                f"{name}: the {len(pods)} needed ask for {amount(name, wanted)}, "
                f"{amount(name, total)} is free there on {int((free > 0).sum())} nodes: "
                f"{amount(name, wanted - total)} more is needed."
            )
    return " ".join(parts)


def _sums(infos: Iterable[PodInfo]) -> dict[int, int]:
    total: dict[int, int] = {}
    for info in infos:
        for index, asked in info.requests:
            total[index] = total.get(index, 0) + asked
    return total


def _short(blocker: Refused, index: int, asked: int, pods: int, wanted: int) -> str:
    table = blocker.cycle.table
    name = table.resources.values[index]
    free = _free(table, index, blocker.cycle.state.get(DOMAIN))
    most, total, nodes = int(free.max(initial=0)), int(free.sum()), int((free > 0).sum())
    text = (
        f"{name}: the {pods} missing need {amount(name, wanted)}, "
        f"{amount(name, asked)} on one node; {amount(name, total)} is free on {nodes} nodes, "
        f"at most {amount(name, most)} on one"
    )
    if total < wanted:
        return f"{text}: {amount(name, wanted - total)} more is needed."
    return f"{text}: enough in all, but in pieces too small."


def _free(table: NodeTable, index: int, nodes: Collection[str] | None = None) -> NDArray[np.int64]:
    """int64 (node): the free amount of a resource, on these nodes or on all."""
    if index >= len(table.allocatable):
        return np.zeros(0, dtype=np.int64)
    rows = (row for name, row in table.row_of.items() if nodes is None or name in nodes)
    chosen = np.fromiter(rows, dtype=np.intp)
    left: NDArray[np.int64] = table.allocatable[index, chosen] - table.requested[index, chosen]
    return left.clip(min=0)


def describe_misfit(group: Group, misfit: Misfit) -> str:
    """Why a group does not run: how much of it fits, and why not more."""
    return describe_branch(group.key, misfit)


def describe_branch(key: str, misfit: Misfit) -> str:
    """The same for the PodGroup or CompositePodGroup of a key."""
    where = f" in {misfit.domain}" if misfit.domain else ""
    composite = hierarchy.names_composite(key)
    what = "groups" if composite else "pods"
    text = f"{hierarchy.title(key)}: {misfit.fitting} of the {misfit.needed} {what} needed fit"
    text += "." if composite else f"{where}."
    if misfit.blocker is None or composite:
        return f"{text} {misfit.explanation}" if misfit.explanation else text
    return f"{text} Pod {misfit.blocker.cycle.pod.key}: {misfit.explanation}"


def too_small(choice: Choice, pods: list[PodInfo], table: NodeTable) -> Misfit:
    """The misfit to report if no domain is tried at all."""
    needed = len(pods)
    if not choice.too_small:
        return Misfit(0, needed, explanation=NO_LABEL)
    largest = max(choice.too_small, key=lambda domain: domain.room)
    why = short_in(table, largest.rows, pods)
    return Misfit(min(largest.room, needed), needed, explanation=why, domain=largest.name)
