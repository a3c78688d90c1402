"""Which nodes hold which container images, and how large they are.

An image is as large as the first node to report it says, until no node holds it any more: this is
how kube-scheduler counts, and nodes do differ.
"""

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node


class ImageIndex:
    """image name -> size in bytes, and the rows that hold it.  A name is one that nodes report.

    `version` grows when any node's images change, or a node comes or goes.
    """

    __slots__ = ("_columns", "_held", "_rows", "sizes", "version")

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.version = 0
        self._rows: dict[str, set[int]] = {}
        self._held: dict[int, dict[str, int]] = {}
        self._columns: dict[str, tuple[NDArray[np.intp], int]] = {}

    def put(self, row: int, node: Node) -> None:
        """A node was reported, for the first time or again."""
        held = _sizes(node)
        if self._held.get(row) == held and all(map(self._agrees, held.items())):
            return
        self._drop(row)
        self._held[row] = held
        for name, size in held.items():
            self.sizes.setdefault(name, size)
            self._rows.setdefault(name, set()).add(row)
        self._changed()

    def remove(self, row: int) -> None:
        if row in self._held:
            self._drop(row)
            self._changed()

    def held(self, row: int) -> dict[str, int]:
        """What a row's node reports."""
        return self._held.get(row, {})

    def column(self, image: str) -> tuple[NDArray[np.intp], int] | None:
        """The rows that hold an image, and its size."""
        rows = self._rows.get(image)
        if not rows:
            return None
        found = self._columns.get(image)
        if found is None:
            at = np.fromiter(rows, dtype=np.intp, count=len(rows))
            found = self._columns[image] = (at, self.sizes[image])
        return found

    def _agrees(self, image: tuple[str, int]) -> bool:
        """Whether an image would keep its size if its only node reported it anew."""
        name, size = image
        return self.sizes[name] == size or len(self._rows[name]) > 1

    def _drop(self, row: int) -> None:
        for name in self._held.pop(row, ()):
            rows = self._rows[name]
            rows.discard(row)
            if not rows:
                del self._rows[name], self.sizes[name]

    def _changed(self) -> None:
        self.version += 1
        self._columns.clear()


def _sizes(node: Node) -> dict[str, int]:
    """The size of each name; of a name that is listed twice, the first one."""
    sizes: dict[str, int] = {}
    for image in node.status.images:
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
