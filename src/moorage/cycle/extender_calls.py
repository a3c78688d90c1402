"""Calls of extenders in an attempt: they filter the nodes that plugins left, and add scores.

1. Extenders filter one after the other, each among the nodes the one before it left; one that
   fails ends the attempt, unless it may be ignored.
2. A node that an extender refuses is reported with the extender's reason. A node that it drops
   without a reason is reported with none, as unresolvable: no eviction helps there.
3. All are asked for scores at once; one that fails adds nothing.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from moorage.api.node import Node
from moorage.cache.table import NodeTable
from moorage.cycle.filtering import Mask
from moorage.cycle.scoring import Scoring
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.extenders import EXTENDER, Extender, ExtenderError, ExtenderFilterResult
from moorage.framework.verdicts import Code, Rejection

DROPPED = Rejection(Code.UNRESOLVABLE, (), EXTENDER)


def filter_by_extenders(cycle: Cycle, feasible: Mask, diagnosis: Diagnosis) -> Mask:
    """bool (row): the feasible rows that every interested extender lets pass."""
    left, said = np.flatnonzero(feasible).tolist(), dict[int, Rejection]()
    for extender in cycle.extenders:
        if not left:
            break
        if extender.filters and extender.is_interested(cycle.pod):
            left = _ask(cycle, extender, left, said)
    passed = np.zeros_like(feasible)
    passed[left] = True
    for row in np.flatnonzero(feasible & ~passed).tolist():
        said.setdefault(row, DROPPED)
    _put_down(diagnosis, {row: why for row, why in said.items() if not passed[row]})
    return passed


def _put_down(diagnosis: Diagnosis, said: dict[int, Rejection]) -> None:
    rows_of: dict[Rejection, list[int]] = {}
    for row, rejection in said.items():
        rows_of.setdefault(rejection, []).append(row)
    reasons = list(rows_of)
    for code, rows in enumerate(rows_of.values()):
        codes = np.full(len(rows), code, dtype=np.int32)
        diagnosis.refuse(np.asarray(rows, dtype=np.intp), codes, reasons.__getitem__)


def _ask(
    cycle: Cycle, extender: Extender, rows: list[int], said: dict[int, Rejection]
) -> list[int]:
    """The rows that one extender leaves; its reasons for refusing others are added to `said`."""
    nodes = _nodes(cycle.table, rows)
    try:
        answer = extender.filter(cycle.pod, nodes)
        left = _rows(answer.names, [node.metadata.name for node in nodes], rows)
    except KeyError as error:
        detail = f"claims a filtered node {error} which is not found in the input node list"
        failure = ExtenderError(f'extender "{extender.name}" {detail}')
    except ExtenderError as error:
        failure = error
    else:
        said.update(_refusals(cycle.table, answer))
        return left
    if not extender.ignorable:
        raise failure
    cycle.extenders.skipped(extender, "filter", failure)
    return rows


def _nodes(table: NodeTable, rows: list[int]) -> list[Node]:
    known = table.nodes
    return [node for row in rows if (node := known[row]) is not None]


def _rows(answered: Sequence[str], asked: list[str], rows: list[int]) -> list[int]:
    """The rows of the answered names; KeyError if a name was not among those asked about."""
    if answered == asked:
        return rows
    row_of = dict(zip(asked, rows, strict=True))
    return [row_of[name] for name in dict.fromkeys(answered)]


def _refusals(table: NodeTable, answer: ExtenderFilterResult) -> Iterable[tuple[int, Rejection]]:
    for code, why in (
        (Code.UNSCHEDULABLE, answer.failed),
        (Code.UNRESOLVABLE, answer.unresolvable),
    ):
        for name, reason in why.items():
            row = table.row_of.get(name)
            if row is not None:
                yield row, Rejection(code, (reason,), EXTENDER)


def add_extender_scores(cycle: Cycle, scored: Scoring, keep: bool) -> None:
    """Add the extenders' scores to the nodes' totals."""
    nodes = _nodes(cycle.table, scored.nodes.index.tolist())
    for name, scores in cycle.extenders.prioritize(cycle.pod, nodes):
        given = [scores.get(node.metadata.name, 0) for node in nodes]
        part = np.array(given, dtype=np.int64)
        scored.add(part)
        if keep:
            scored.parts[name] = part
