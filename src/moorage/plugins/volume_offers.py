"""Things that some nodes can reach, in order of preference: for every node, the first within reach.

Most things are reached through one label (a disk of a host, a volume of a zone). Those are looked
up by the node's value of that label, so that ten thousand disks cost a dictionary and not ten
thousand passes over the nodes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.requirements import IN, Requirement
from moorage.cache.view import Nodes
from moorage.plugins.volume_affinity import Reach, mask

NOTHING: Final = -1

Things = NDArray[np.int64]
"""(node) A thing's number, or NOTHING."""


class Offers:
    """Add things from the most to the least preferred, then ask for the best per node.

    `depth` is how many things one node may take: no more than that of any group matter.
    """

    def __init__(self, depth: int = 1) -> None:
        self._depth = depth
        self._things: list[int] = []
        self._by_label: dict[str, dict[str, list[int]]] = {}
        self._by_reach: dict[Reach, list[int]] = {}

    def add(self, thing: int, reach: Reach) -> None:
        rank = len(self._things)
        self._things.append(thing)
        for group in self._groups(reach):
            if len(group) < self._depth:
                group.append(rank)

    def best(self, nodes: Nodes, taken: Sequence[Things] = ()) -> Things:
        """For each node, the first thing within its reach that it has not taken already."""
        nobody = len(self._things)
        things = np.array([*self._things, NOTHING], dtype=np.int64)
        best = np.full(nodes.count, nobody)
        for ranks in self._ranks(nodes, nobody):
            free = ranks < best
            for others in taken:
                free &= things[ranks] != others
            best = np.where(free, ranks, best)
        return things[best]

    def _groups(self, reach: Reach) -> Iterator[list[int]]:
        label = _single_label(reach)
        if label is None:
            yield self._by_reach.setdefault(reach, [])
        else:
            by_value = self._by_label.setdefault(label.key, {})
            for value in label.values:
                yield by_value.setdefault(value, [])

    def _ranks(self, nodes: Nodes, nobody: int) -> Iterator[Things]:
        """Ranks within reach, `nobody` where there is none.  int64 (node), several times."""
        for label, by_value in self._by_label.items():
            values = nodes.table.label(label).values
            ranks = np.full((self._depth, len(values)), nobody)  # (depth, value)
            for value, group in by_value.items():
                known = values.find(value)
                if known is not None:
                    ranks[: len(group), known] = group
            yield from ranks[:, nodes.label(label)]
        for reach, group in self._by_reach.items():
            within = mask(reach, nodes)
            for rank in group:
                yield np.where(within, rank, nobody)


def _single_label(reach: Reach) -> Requirement | None:
    """The requirement of a reach that is one label having one of some values."""
    if reach is None or len(reach) != 1 or len(reach[0]) != 1:
        return None
    return reach[0][0] if reach[0][0].operator == IN else None
