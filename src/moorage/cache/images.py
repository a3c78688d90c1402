"""Which nodes hold which container images, and how large they are there."""

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node


class ImageIndex:
    """image name -> row -> size in bytes.  A name is one that the node reports.

    `version` grows when any node's images change, or a node comes or goes.
    """

    __slots__ = ("_columns", "_held", "sizes", "version")

    def __init__(self) -> None:
        self.sizes: dict[str, dict[int, int]] = {}
        self.version = 0
        self._held: dict[int, dict[str, int]] = {}
        self._columns: dict[str, tuple[NDArray[np.intp], NDArray[np.int64]]] = {}

    def put(self, row: int, node: Node) -> None:
        held = {name: image.size_bytes for image in node.status.images for name in image.names}
        if self._held.get(row) == held:
            return
        self._drop(row)
        self._held[row] = held
        for name, size in held.items():
            self.sizes.setdefault(name, {})[row] = size
        self._changed()

    def remove(self, row: int) -> None:
        if row in self._held:
            self._drop(row)
            self._changed()

    def columns(self, image: str) -> tuple[NDArray[np.intp], NDArray[np.int64]] | None:
        """The rows that hold an image, and its size on each."""
        held = self.sizes.get(image)
        if not held:
            return None
        found = self._columns.get(image)
        if found is None:
            rows = np.fromiter(held.keys(), dtype=np.intp, count=len(held))
            sizes = np.fromiter(held.values(), dtype=np.int64, count=len(held))
            found = self._columns[image] = (rows, sizes)
        return found

    def _drop(self, row: int) -> None:
        for name in self._held.pop(row, ()):
            rows = self.sizes[name]
            del rows[row]
            if not rows:
                del self.sizes[name]

    def _changed(self) -> None:
        self.version += 1
        self._columns.clear()
