"""A tree of groups in one transaction: enough groups of each CompositePodGroup fit, or nothing.

1. A PodGroup fits if enough of its pods fit or run already (`moorage.gang.transaction`).
2. A CompositePodGroup fits if enough of its children fit. They are tried one after the other, each
   with those before it in place. As soon as too few are left, everything is undone.
3. A group of either kind that must be packed tries every domain within its parent's, and takes the
   one in which most of its pods fit.

Children that do not fit and are not needed hold nothing.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from moorage.cache.table import NodeTable
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import Rejection
from moorage.gang import hierarchy, shortage, topology, transaction
from moorage.gang.hierarchy import Branch
from moorage.gang.topology import UnclearDomainError
from moorage.gang.transaction import Misfit, Refused, Trying, Whole

P = TypeVar("P")
Nodes = frozenset[str] | None
"""The names of nodes that may be used; None for all."""
NOTHING_NEW = "None of its pods that wait fits."


class TreePlacement(Generic[P]):
    """Tries a tree on the present table; `waiting` and `occupied` are by PodGroup key."""

    def __init__(
        self,
        table: NodeTable,
        waiting: Mapping[str, Sequence[QueuedPod]],
        occupied: Mapping[str, Collection[str]],
        trying: Trying[P],
    ) -> None:
        self._table = table
        self._waiting = waiting
        self._occupied = occupied
        self._trying = trying

    def place(self, root: Branch) -> Whole[P] | Misfit:
        """Place enough pods of a tree, at least one; or none."""
        outcome = self._place(root, None)
        if isinstance(outcome, Misfit) or outcome.placed:
            return outcome
        first = outcome.refused[0] if outcome.refused else None
        why = NOTHING_NEW if first is None else f"{NOTHING_NEW} {_said(first)}"
        have = {key: len(nodes) for key, nodes in self._occupied.items()}
        return Misfit(root.satisfied(have), root.minimum, first, outcome.refused, why)

    def _place(self, branch: Branch, nodes: Nodes) -> Whole[P] | Misfit:
        key = topology.wanted_packing(branch.obj).required
        if not key:
            return self._place_in(branch, nodes)
        domains = self._domains(branch, key, nodes)
        if not domains:
            return Misfit(0, branch.minimum, explanation=shortage.NO_LABEL)
        return self._place_in_best(branch, domains)

    def _place_in_best(self, branch: Branch, domains: Mapping[str, Nodes]) -> Whole[P] | Misfit:
        """Place a branch in the domain in which most pods fit; of equal ones, in the smallest."""
        ranked: list[tuple[int, int, str]] = []
        misfits: list[Misfit] = []
        for name, nodes in domains.items():
            outcome = self._place_in(branch, nodes)
            if isinstance(outcome, Misfit):
                misfits.append(outcome._replace(domain=name))
            elif len(domains) == 1:
                return outcome
            else:
                ranked.append((-len(outcome.placed), len(nodes or ()), name))
                self._undo(outcome.placed)
        for _, _, name in sorted(ranked):
            outcome = self._place_in(branch, domains[name])
            if isinstance(outcome, Whole):
                return outcome
            misfits.append(outcome._replace(domain=name))
        return max(misfits, key=lambda misfit: misfit.fitting)

    def _place_in(self, branch: Branch, nodes: Nodes) -> Whole[P] | Misfit:
        if not branch.is_leaf:
            return self._place_children(branch, nodes)
        key = branch.obj.key
        return transaction.place_together(
            self._waiting.get(key, ()),
            branch.minimum - len(self._occupied.get(key, ())),
            partial(self._trying.attempt_one, nodes=nodes, claims=set()),
            self._trying.undo,
            shortage.explain_misfit,
        )

    def _place_children(self, branch: Branch, nodes: Nodes) -> Whole[P] | Misfit:
        placed: list[P] = []
        refused: list[Refused] = []
        failed: list[tuple[Branch, Misfit]] = []
        fitting, left = 0, len(branch.children)
        try:
            for child in branch.children:
                if fitting + left < branch.minimum:
                    break
                left -= 1
                outcome = self._place(child, nodes)
                refused += outcome.refused
                if isinstance(outcome, Whole):
                    fitting += 1
                    placed += outcome.placed
                else:
                    failed.append((child, outcome))
        except BaseException:
            self._undo(placed)
            raise
        if fitting >= branch.minimum:
            return Whole(placed, refused)
        self._undo(placed)
        return _misfit(branch, fitting, failed, refused)

    def _undo(self, placed: Sequence[P]) -> None:
        for each in reversed(placed):
            self._trying.undo(each)

    def _domains(self, branch: Branch, key: str, nodes: Nodes) -> dict[str, Nodes]:
        """Nodes by value of a label; if pods of the branch run, only the domain they run in.

        UnclearDomainError if they run in several, or outside of any.
        """
        table = self._table
        label = table.label(key)
        rows = np.flatnonzero(table.alive[: table.rows] & (label.ids[: table.rows] != 0)).tolist()
        homes = {n for leaf in branch.leaves() for n in self._occupied.get(leaf.obj.key, ())}
        found: dict[str, set[str]] = {}
        for row in rows:
            name = table.node(row).name
            if nodes is None or name in nodes:
                value = label.values.values[int(label.ids[row])]
                found.setdefault(f"{key}={value}", set()).add(name)
        values = _values(table, key, homes)
        if values:
            found = {name: inside for name, inside in found.items() if name == f"{key}={values[0]}"}
        return {name: frozenset(inside) for name, inside in found.items()}


def _values(table: NodeTable, key: str, homes: Set[str]) -> list[str]:
    """The label value of the nodes that pods run on; empty if none run."""
    found: dict[str, None] = {}
    for home in sorted(homes & table.row_of.keys()):
        value = table.node(table.row_of[home]).labels.get(key)
        if value is None:
            raise UnclearDomainError(f"no topology domain found for pods on node {home}")
        found[value] = None
    if len(found) > 1:
        raise UnclearDomainError(topology.SEVERAL.format(", ".join(list(found)[:2])))
    return list(found)


def _misfit(
    branch: Branch, fitting: int, failed: list[tuple[Branch, Misfit]], refused: list[Refused]
) -> Misfit:
    """The misfit of a branch, explained by the first child that has a blocker."""
    if not failed:
        why = f"It has {len(branch.children)} groups."
        return Misfit(fitting, branch.minimum, None, refused, why)
    child, misfit = next((pair for pair in failed if pair[1].blocker is not None), failed[0])
    why = shortage.describe_branch(hierarchy.object_key(child.obj), misfit)
    return Misfit(fitting, branch.minimum, misfit.blocker, refused, why, misfit.domain)


def _said(refused: Refused) -> str:
    why = refused.why
    text = why.message
    return text if isinstance(why, Rejection) else f"Pod {refused.cycle.pod.key}: {text}"
