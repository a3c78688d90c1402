"""Which nodes hold which container images, and how large they are.

Nodes may report different sizes of an image. As in kube-scheduler, the size that the first node
reported holds until no node has the image any more.
"""

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node


class ImageIndex:
    """Image name, as nodes report it -> size in bytes, and the rows that hold the image.

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
        """Take over the images of a node that is new or was updated."""
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
        """Image name -> size in bytes, as the row's node reports them."""
        return self._held.get(row, {})

    def column(self, image: str) -> tuple[NDArray[np.intp], int] | None:
        """The rows that hold an image, and its size; None if no node holds it."""
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
    """The size of each image name; if a name is listed twice, the first one."""
    sizes: dict[str, int] = {}
    for image in node.status.images:
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
