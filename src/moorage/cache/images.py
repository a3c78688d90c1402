"""Which nodes hold which container images, and how large they are there."""

from moorage.api.node import Node


class ImageIndex:
    """image name -> row -> size in bytes.  A name is one that the node reports."""

    __slots__ = ("_names", "sizes")

    def __init__(self) -> None:
        self.sizes: dict[str, dict[int, int]] = {}
        self._names: dict[int, tuple[str, ...]] = {}

    def put(self, row: int, node: Node) -> None:
        self.remove(row)
        names = []
        for image in node.status.images:
            for name in image.names:
                self.sizes.setdefault(name, {})[row] = image.size_bytes
                names.append(name)
        if names:
            self._names[row] = tuple(names)

    def remove(self, row: int) -> None:
        for name in self._names.pop(row, ()):
            rows = self.sizes.get(name)
            if rows is not None and rows.pop(row, None) is not None and not rows:
                del self.sizes[name]
