"""Volumes and claims as assumed here, until the API server sends a newer version."""

from typing import Generic, TypeVar

from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.cache.object_store import ObjectStore

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class OutOfSyncError(Exception):
    """What is to be assumed is not a change of what is known."""


class AssumeCache(Generic[T]):
    """Assumed objects over known ones. An assumption holds for one resourceVersion only."""

    def __init__(self, kind: type[T]) -> None:
        self._kind: type[T] = kind
        self._assumed: dict[str, T] = {}

    def get(self, objects: ObjectStore, name: str, namespace: str = "") -> T | None:
        known = objects.get(self._kind, name, namespace)
        return None if known is None else self.over(known)

    def over(self, known: T) -> T:
        """What is assumed of a known object, or the object itself."""
        assumed = self._assumed.get(known.key)
        if assumed is None:
            return known
        if _version(assumed) != _version(known):
            del self._assumed[known.key]
            return known
        return assumed

    def assume(self, objects: ObjectStore, changed: T) -> None:
        known = objects.get(self._kind, changed.name, changed.namespace)
        if known is None or _version(known) != _version(changed):
            stored = "gone" if known is None else _version(known)
            raise OutOfSyncError(
                f'"{changed.key}" is out of sync (stored: {stored}, assume: {_version(changed)})'
            )
        self._assumed[changed.key] = changed

    def restore(self, changed: T) -> None:
        """Take an assumption back, unless there is another one by now."""
        assumed = self._assumed.get(changed.key)
        if assumed is not None and _version(assumed) == _version(changed):
            del self._assumed[changed.key]

    def all(self, objects: ObjectStore) -> list[T]:
        """Everything that is assumed at the moment."""
        for key, assumed in list(self._assumed.items()):
            known = objects.get(self._kind, assumed.name, assumed.namespace)
            if known is None or _version(known) != _version(assumed):
                del self._assumed[key]
        return list(self._assumed.values())


def _version(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj.metadata.resource_version
