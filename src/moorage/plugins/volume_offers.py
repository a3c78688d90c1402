"""Things that some nodes can reach, in order of preference: for every node, the first within reach.

Most things are reached through one label (a disk of a host, a volume of a zone). Those are looked
up by the node's value of that label, all at once, so that ten thousand disks do not take ten
thousand passes over the nodes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.requirements import IN, Requirement
from moorage.cache.interning import Interner
from moorage.cache.view import Nodes
from moorage.plugins.volume_affinity import Mask, Reach, mask

NOTHING: Final = -1

Things = NDArray[np.int64]
"""(node) A thing's number, or NOTHING."""


class Offers:
    """Things by number, the most preferred first; made once, asked many times."""

    def __init__(self, reaches: Sequence[Reach]) -> None:
        self._count = len(reaches)
        self._by_label: dict[str, ByLabel] = {}
        self._by_reach: dict[Reach, list[int]] = {}
        for thing, reach in enumerate(reaches):
            label = _single_label(reach)
            if label is None:
                self._by_reach.setdefault(reach, []).append(thing)
            else:
                group = self._by_label.get(label.key)
                if group is None:
                    group = self._by_label[label.key] = ByLabel(label.key)
                group.add(thing, label.values)

    def best(self, nodes: Nodes, allowed: Mask, taken: Sequence[Things] = ()) -> Things:
        """For each node, the first allowed thing within its reach that it has not taken already."""
        nobody, depth = self._count, len(taken) + 1
        best = np.full(nodes.count, nobody)
        for things in self._within_reach(nodes, allowed, depth):
            free = things < best
            for others in taken:
                free &= things != others
            best = np.where(free, things, best)
        best[best == nobody] = NOTHING
        return best

    def _within_reach(self, nodes: Nodes, allowed: Mask, depth: int) -> Iterator[Things]:
        """Things within reach, beyond the last where there is none; the first `depth` of each
        group at least, since a node has taken fewer than that."""
        for group in self._by_label.values():
            yield from group.firsts(nodes, allowed, depth, self._count)
        for reach, things in self._by_reach.items():
            within = mask(reach, nodes)
            for thing in [thing for thing in things if allowed[thing]][:depth]:
                yield np.where(within, thing, self._count)


class ByLabel:
    """Things reached through the value of one label."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._things: list[int] = []
        self._values: list[int] = []
        self._known: Interner[str] = Interner()
        self._arrays: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._translation: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, thing: int, values: Sequence[str]) -> None:
        for value in values:
            self._things.append(thing)
            self._values.append(self._known.intern(value))

    def firsts(self, nodes: Nodes, allowed: Mask, depth: int, nobody: int) -> Iterator[Things]:
        """For each node the first allowed thing with its value, then the second, and so on."""
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
        """int64 (node): the node's value as numbered here, beyond the last where it is unknown."""
        values = nodes.table.label(self.key).values.values
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
    """The requirement of a reach that is one label having one of some values."""
    if reach is None or len(reach) != 1 or len(reach[0]) != 1:
        return None
    return reach[0][0] if reach[0][0].operator == IN else None
