"""Device classes, and the extended resources they back."""

import datetime
from typing import Final

from moorage.api.resource_slices import DeviceClass

CLASS_RESOURCE_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
_NEVER: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class Classes:
    """Every class by name and by extended resource; if several back one, the newest counts."""

    def __init__(self) -> None:
        self.version = 0
        self._by_name: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, DeviceClass] | None = None

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> DeviceClass | None:
        return self._by_name.get(name)

    def put(self, cls: DeviceClass) -> None:
        self._by_name[cls.name] = cls
        self._changed()

    def remove(self, cls: DeviceClass) -> None:
        self._by_name.pop(cls.name, None)
        self._changed()

    def of_resource(self, resource: str) -> DeviceClass | None:
        """The class that backs an extended resource; None if none does."""
        if self._by_resource is None:
            self._by_resource = self._resources()
        return self._by_resource.get(resource)

    def _changed(self) -> None:
        self.version += 1
        self._by_resource = None

    def _resources(self) -> dict[str, DeviceClass]:
        found = {CLASS_RESOURCE_PREFIX + name: cls for name, cls in self._by_name.items()}
        for cls in sorted(self._by_name.values(), key=_age):
            if cls.spec.extended_resource_name:
                found[cls.spec.extended_resource_name] = cls
        return found


def _age(cls: DeviceClass) -> tuple[datetime.datetime, tuple[int, ...]]:
    """A sort key whose greatest prevails: the newest class, and of equal age the first by name."""
    return cls.metadata.creation_timestamp or _NEVER, tuple(-ord(letter) for letter in cls.name)
