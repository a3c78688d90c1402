"""Node affinity of volumes: which nodes reach a volume, and for each node the first it reaches.

Only labels of nodes count. As in kube-scheduler, a term's fields are validated and then match every
node.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api import label_requirements
from moorage.api.affinity import NodeSelector
from moorage.api.label_requirements import IN, NOT_IN, Requirement
from moorage.api.node_selectors import compile_node_selector
from moorage.api.storage import PersistentVolume
from moorage.cache import selector_masks
from moorage.cache.interner import Interner
from moorage.cache.node_view import Nodes

Mask = NDArray[np.bool_]

Term = tuple[Requirement, ...]
Reach = tuple[Term, ...] | None
"""Terms of which one must hold; None reaches every node."""


def reach_of(volume: PersistentVolume) -> Reach:
    affinity = volume.spec.node_affinity
    return compile_reach(affinity.required if affinity is not None else None)


def compile_reach(selector: NodeSelector | None) -> Reach:
    if selector is None:
        return None
    terms, _ = compile_node_selector(selector)
    return tuple(term.labels for term in terms)


def reaches(reach: Reach, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels is within reach."""
    return reach is None or any(label_requirements.all_match(term, labels) for term in reach)


def reach_mask(reach: Reach, nodes: Nodes) -> Mask:
    """bool (node): the node is within reach."""
    if reach is None:
        return np.ones(nodes.count, dtype=bool)
    found = np.zeros(nodes.count, dtype=bool)
    for term in reach:
        found |= term_mask(term, nodes)
    return found


def term_mask(term: Term, nodes: Nodes) -> Mask:
    found = np.ones(nodes.count, dtype=bool)
    for requirement in term:
        found &= _requirement_mask(requirement, nodes)
    return found


def _requirement_mask(requirement: Requirement, nodes: Nodes) -> Mask:
    if requirement.operator not in (IN, NOT_IN):
        return selector_masks.labels_match(requirement, nodes)
    known = nodes.table.label(requirement.key).values
    wanted = [found for value in requirement.values if (found := known.find(value)) is not None]
    inside = np.isin(nodes.label(requirement.key), wanted)
    return inside if requirement.operator == IN else ~inside


NO_CHOICE: Final = -1

Choices = NDArray[np.int64]
"""int64 (node): the number of a thing (a volume or a storage pool), or NO_CHOICE."""


class ReachIndex:
    """Finds for each node the first thing it reaches; numbers are in order of preference."""

    def __init__(self, reaches: Sequence[Reach]) -> None:
        self._count = len(reaches)
        self._by_label: dict[str, LabelReachIndex] = {}
        self._by_reach: dict[Reach, list[int]] = {}
        for thing, reach in enumerate(reaches):
            label = _single_label(reach)
            if label is None:
                self._by_reach.setdefault(reach, []).append(thing)
            else:
                group = self._by_label.get(label.key)
                if group is None:
                    group = self._by_label[label.key] = LabelReachIndex(label.key)
                group.add(thing, label.values)

    def best(self, nodes: Nodes, allowed: Mask, taken: Sequence[Choices] = ()) -> Choices:
        """For each node, the first allowed thing within reach that is not in `taken` for it."""
        nobody, depth = self._count, len(taken) + 1
        best = np.full(nodes.count, nobody)
        for things in self._within_reach(nodes, allowed, depth):
            free = things < best
            for others in taken:
                free &= things != others
            best = np.where(free, things, best)
        best[best == nobody] = NO_CHOICE
        return best

    def _within_reach(self, nodes: Nodes, allowed: Mask, depth: int) -> Iterator[Choices]:
        """Columns of things within reach; `self._count` where there is none.

        At least the first `depth` things of each group: a node has taken fewer than that.
        """
        for group in self._by_label.values():
            yield from group.firsts(nodes, allowed, depth, self._count)
        for reach, things in self._by_reach.items():
            within = reach_mask(reach, nodes)
            for thing in [thing for thing in things if allowed[thing]][:depth]:
                yield np.where(within, thing, self._count)


class LabelReachIndex:
    """Things reached through the value of one label."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._things: list[int] = []
        self._values: list[int] = []
        self._known: Interner[str] = Interner()
        self._arrays: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._translated: list[str | None] = []
        """The list of the label's values that `_translation` was made from."""
        self._translation: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, thing: int, values: Sequence[str]) -> None:
        for value in values:
            self._things.append(thing)
            self._values.append(self._known.intern(value))

    def firsts(self, nodes: Nodes, allowed: Mask, depth: int, nobody: int) -> Iterator[Choices]:
        """For each node the first allowed thing with its label value, then the second etc."""
        things, values = self._columns()
        offered = allowed[things]
        things, values = things[offered], values[offered]
        here = self._translate(nodes)
        for _ in range(depth):
            first = np.full(len(self._known) + 1, nobody)  # (value)
            np.minimum.at(first, values, things)
            yield first[here]
            later = first[values] != things
            things, values = things[later], values[later]

    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._arrays is None:
            things, values = np.array(self._things), np.array(self._values)
            self._arrays = things, values
        return self._arrays

    def _translate(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64 (node): the id of the node's value in this index; `len(self._known)` if unknown."""
        values = nodes.table.label(self.key).values.values
        if values is not self._translated:
            self._translated, self._translation = values, np.zeros(0, dtype=np.int64)
        seen = len(self._translation)
        if seen < len(values):
            numbers = (self._known.find(value or "") for value in values[seen:])
            unknown = len(self._known)
            fresh = [unknown if number is None else number for number in numbers]
            self._translation = np.concatenate((self._translation, np.array(fresh)))
            if seen == 0:
                self._translation[0] = unknown
        return self._translation[nodes.label(self.key)]


def _single_label(reach: Reach) -> Requirement | None:
    """The requirement of a reach that is a single `label in (values)`; else None."""
    if reach is None or len(reach) != 1 or len(reach[0]) != 1:
        return None
    return reach[0][0] if reach[0][0].operator == IN else None
