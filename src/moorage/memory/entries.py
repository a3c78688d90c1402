"""One version of one object: the dict it is, and the struct that readers see."""

from collections.abc import Callable

from moorage.api.meta import KubeObject
from moorage.watch.surface import Raw

Decode = Callable[[Raw], KubeObject]


class Entry:
    """An object at one version. Neither the dict nor the struct is ever changed."""

    __slots__ = ("_decode", "_view", "key", "raw", "version")

    def __init__(self, key: str, raw: Raw, version: int, decode: Decode) -> None:
        self.key = key
        self.raw = raw
        self.version = version
        self._decode = decode
        self._view: KubeObject | None = None

    @property
    def view(self) -> KubeObject:
        """The struct, decoded when first asked for."""
        if self._view is None:
            self._view = self._decode(self.raw)
        return self._view

    def see(self, view: KubeObject) -> None:
        """Take a struct that was decoded already."""
        self._view = view
