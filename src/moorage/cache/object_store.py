"""The store of other objects that plugins read: claims, classes, services, namespaces."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from moorage.api.meta import KubeObject
from moorage.api.podgroup import PodGroup

T = TypeVar("T", bound=KubeObject)


class ObjectStore:
    """Objects by type and key, with a version per type that grows at every change.

    `changes` counts the changes of all types. It leaves out changes of only a PodGroup's status,
    which follow from decisions: no decision depends on them.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._objects: dict[type[Any], dict[str, Any]] = {}
        self._versions: dict[type[Any], int] = {}
        self._followers: dict[type[Any], tuple[Callable[[Any], None], Callable[[Any], None]]] = {}

    def follow(self, kind: type[T], put: Callable[[T], None], remove: Callable[[T], None]) -> None:
        """Call `put` for every object of a type, and from now on `put` or `remove` for each change.

        A type has one follower: a later call replaces it.
        """
        self._followers[kind] = (put, remove)
        for obj in list(self.all(kind)):
            put(obj)

    def put(self, obj: KubeObject) -> None:
        kind = type(obj)
        known = self._objects.setdefault(kind, {})
        before, known[obj.key] = known.get(obj.key), obj
        self._changed(kind, counts=not _are_the_same(before, obj))
        if kind in self._followers:
            self._followers[kind][0](obj)

    def remove(self, obj: KubeObject) -> None:
        kind = type(obj)
        if self._objects.get(kind, {}).pop(obj.key, None) is not None:
            self._changed(kind)
            if kind in self._followers:
                self._followers[kind][1](obj)

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        key = f"{namespace}/{name}" if namespace else name
        return cast("T | None", self._objects.get(kind, {}).get(key))

    def all(self, kind: type[T], namespace: str | None = None) -> Iterator[T]:
        for obj in self._objects.get(kind, {}).values():
            if namespace is None or obj.namespace == namespace:
                yield obj

    def kinds(self) -> list[type[Any]]:
        """The types of objects that there are, or were."""
        return list(self._objects)

    def version(self, kind: type[Any]) -> int:
        return self._versions.get(kind, 0)

    def _changed(self, kind: type[Any], counts: bool = True) -> None:
        self._versions[kind] = self.version(kind) + 1
        self.changes += counts


def _are_the_same(before: Any, obj: KubeObject) -> bool:
    return isinstance(obj, PodGroup) and before is not None and obj.asks_the_same(before)
