"""What the devices of a claim must have in common, or must not."""

from moorage.api.resource_claims import DeviceConstraint
from moorage.devices.inventory import PoolDevice

Value = tuple[str, str | int | bool]


class Constraint:
    """One constraint, and the devices that were added under it."""

    __slots__ = ("_requests", "attribute", "values")

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self.attribute = attribute
        self.values: list[Value | None] = []
        self._requests = frozenset(requests)

    def applies(self, names: tuple[str, ...]) -> bool:
        """Whether a request is meant, by its own name or by that of its parent."""
        return not self._requests or not self._requests.isdisjoint(names)

    def add(self, device: PoolDevice) -> bool:
        """Take a device in, if it may be."""
        found = attribute_of(device, self.attribute)
        if found is None or not self.admits(found[0]):
            return False
        self.values.append(found[0])
        return True

    def admits(self, value: Value | None) -> bool:
        raise NotImplementedError

    def remove(self) -> None:
        """Take the last device out again."""
        self.values.pop()


class MatchAttribute(Constraint):
    """All devices have the same value."""

    __slots__ = ()

    def admits(self, value: Value | None) -> bool:
        return not self.values or (value is not None and value == self.values[0])


class DistinctAttribute(Constraint):
    """No two devices have the same value."""

    __slots__ = ()

    def admits(self, value: Value | None) -> bool:
        return not self.values or (value is not None and value not in self.values)


def make_constraint(given: DeviceConstraint) -> Constraint | None:
    """The constraint; None where it is of no known kind."""
    if given.match_attribute is not None:
        return MatchAttribute(given.match_attribute, given.requests)
    if given.distinct_attribute is not None:
        return DistinctAttribute(given.distinct_attribute, given.requests)
    return None


def attribute_of(device: PoolDevice, name: str) -> tuple[Value | None] | None:
    """The scalar value of an attribute by its full name; None where the device has none such."""
    attributes = device.device.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, identifier = name.partition("/")
        if slash and domain == device.id.driver:
            found = attributes.get(identifier)
    return None if found is None else (found.scalar,)
