"""Objects of a kind that were added, changed or deleted since the last look."""

from typing import Generic, NamedTuple, TypeVar

from moorage.api.meta import KubeObject
from moorage.cache.object_store import ObjectStore

T = TypeVar("T", bound=KubeObject)


class ObjectChange(NamedTuple, Generic[T]):
    """An object that came (no `old`), changed, or went (no `new`)."""

    old: T | None
    new: T | None


class ObjectTracker(Generic[T]):
    """The objects of a kind as last seen. Objects are never changed in place, only replaced."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._seen: dict[str, T] = {}
        self._ids: set[int] = set()
        self._version = -1

    def catch_up(self, objects: ObjectStore) -> list[ObjectChange[T]]:
        """Every change since the last call; the first call returns all objects as new."""
        version = objects.version(self._kind)
        if version == self._version:
            return []
        self._version = version
        now, ids = list(objects.all(self._kind)), self._ids
        changes = [self._take(fresh) for fresh in now if id(fresh) not in ids]
        if len(now) != len(self._seen):
            left = self._seen.keys() - {each.key for each in now}
            changes.extend(ObjectChange(self._drop(key), None) for key in left)
        return changes

    def _take(self, fresh: T) -> ObjectChange[T]:
        key = fresh.key
        old = self._drop(key) if key in self._seen else None
        self._seen[key] = fresh
        self._ids.add(id(fresh))
        return ObjectChange(old, fresh)

    def _drop(self, key: str) -> T:
        old = self._seen.pop(key)
        self._ids.remove(id(old))
        return old
