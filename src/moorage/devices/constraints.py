"""What the devices of a claim must have in common, or must not.

Attributes that are lists are compared only if that feature is on: then an attribute is the set of
its values, and a single value is a set of one.
"""

from abc import ABC, abstractmethod

from moorage.api.resource_claims import DeviceConstraint
from moorage.api.resource_slices import DeviceAttribute
from moorage.devices.inventory import PoolDevice

Value = tuple[str, str | int | bool]
Values = frozenset[Value]


class Constraint(ABC):
    """One constraint, and the devices that were added under it."""

    __slots__ = ("_requests", "attribute")

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self.attribute = attribute
        self._requests = frozenset(requests)

    def applies(self, names: tuple[str, ...]) -> bool:
        """Whether it applies to a request, given its own name and that of its parent."""
        return not self._requests or not self._requests.isdisjoint(names)

    @property
    @abstractmethod
    def is_begun(self) -> bool:
        """Whether a device was added, which limits what else may be."""

    @abstractmethod
    def add(self, device: PoolDevice) -> bool:
        """Add a device if it meets the constraint; whether it does."""

    @abstractmethod
    def would_add(self, device: PoolDevice) -> bool:
        """Whether a device could be added now."""

    @abstractmethod
    def remove(self) -> None:
        """Remove the last device."""


class ValueConstraint(Constraint):
    """A constraint on attributes of a single value."""

    __slots__ = ("values",)

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self.values: list[Value | None] = []

    @property
    def is_begun(self) -> bool:
        return bool(self.values)

    def add(self, device: PoolDevice) -> bool:
        found = attribute_of(device, self.attribute)
        if found is None or not self.admits(found[0]):
            return False
        self.values.append(found[0])
        return True

    def would_add(self, device: PoolDevice) -> bool:
        found = attribute_of(device, self.attribute)
        return found is not None and self.admits(found[0])

    def remove(self) -> None:
        self.values.pop()

    @abstractmethod
    def admits(self, value: Value | None) -> bool:
        """Whether a device with this value may be added."""


class MatchAttribute(ValueConstraint):
    """All devices have the same value."""

    __slots__ = ()

    def admits(self, value: Value | None) -> bool:
        return not self.values or (value is not None and value == self.values[0])


class DistinctAttribute(ValueConstraint):
    """No two devices have the same value."""

    __slots__ = ()

    def admits(self, value: Value | None) -> bool:
        return not self.values or (value is not None and value not in self.values)


class ListConstraint(Constraint):
    """A constraint on the values of attributes that may be lists."""

    __slots__ = ("sets",)

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self.sets: list[Values] = []

    def add(self, device: PoolDevice) -> bool:
        found = values_of(device, self.attribute)
        kept = self.kept(found) if found else None
        if not kept:
            return False
        self.sets.append(kept)
        return True

    @property
    def is_begun(self) -> bool:
        return bool(self.sets)

    def would_add(self, device: PoolDevice) -> bool:
        return bool(self.kept(values_of(device, self.attribute)))

    @abstractmethod
    def kept(self, values: Values) -> Values | None:
        """The values to remember of a device; None if it may not be added."""

    def remove(self) -> None:
        self.sets.pop()


class MatchListAttribute(ListConstraint):
    """There is a value that all devices have."""

    __slots__ = ()

    def kept(self, values: Values) -> Values | None:
        return self.sets[-1] & values if self.sets else values


class DistinctListAttribute(ListConstraint):
    """No two devices have a value in common."""

    __slots__ = ()

    def kept(self, values: Values) -> Values | None:
        return values if all(values.isdisjoint(each) for each in self.sets) else None


def make_constraint(given: DeviceConstraint, lists: bool = False) -> Constraint | None:
    """The constraint, which compares lists or only single values; None if of no known kind."""
    if given.match_attribute is not None:
        match = MatchListAttribute if lists else MatchAttribute
        return match(given.match_attribute, given.requests)
    if given.distinct_attribute is not None:
        distinct = DistinctListAttribute if lists else DistinctAttribute
        return distinct(given.distinct_attribute, given.requests)
    return None


def attribute_of(device: PoolDevice, name: str) -> tuple[Value | None] | None:
    """The scalar value of an attribute by its full name; None if the device has none."""
    found = _attribute(device, name)
    return None if found is None else (found.scalar,)


def values_of(device: PoolDevice, name: str) -> Values:
    """The values of an attribute by its full name; empty if the device has none."""
    values = device.values.get(name)
    if values is None:
        found = _attribute(device, name)
        values = device.values[name] = frozenset() if found is None else found.values
    return values


def _attribute(device: PoolDevice, name: str) -> DeviceAttribute | None:
    attributes = device.device.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, identifier = name.partition("/")
        if slash and domain == device.id.driver:
            found = attributes.get(identifier)
    return found
