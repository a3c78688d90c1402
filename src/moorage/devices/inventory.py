"""The devices that drivers offer: slices, with the taints that rules put on their devices.

`changed` is a log of the names of nodes whose devices have changed; None stands for all nodes.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from moorage.api import quantity
from moorage.api.resource_slices import (
    Device,
    DeviceCapacity,
    DeviceTaint,
    DeviceTaintRule,
    ResourceSlice,
)
from moorage.cache.follower import RowLog


class PoolID(NamedTuple):
    """A pool of one driver."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceID(NamedTuple):
    """A device, unique in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


NANO = -9


def nano(text: str) -> int:
    """A quantity in billionths, exactly."""
    parsed = quantity.parse(text)
    return parsed.amount * 10 ** (parsed.scale - NANO) if parsed.amount else 0


class PoolDevice:
    """One device of a slice, with everything the search reads of it precomputed."""

    __slots__ = (
        "capacity",
        "consumes",
        "device",
        "entry",
        "groups",
        "id",
        "index",
        "is_shared",
        "plain_capacity",
        "taints",
        "values",
        "variables",
    )

    def __init__(self, entry: "SliceEntry", index: int, device: Device) -> None:
        spec = entry.slice.spec
        self.entry = entry
        self.index = index
        self.device = device
        self.id = DeviceID(spec.driver, spec.pool.name, device.name)
        self.taints: tuple[DeviceTaint, ...] = device.taints
        self.is_shared = bool(device.allow_multiple_allocations)
        self.capacity: dict[str, DeviceCapacity] = device.capacity
        self.plain_capacity = all(
            each.request_policy is None and nano(each.value) >= 0
            for each in device.capacity.values()
        )
        self.consumes = tuple(
            (each.counter_set, name, nano(counter.value))
            for each in device.consumes_counters
            for name, counter in each.counters.items()
        )
        self.groups = tuple(
            (each.counter_set, frozenset(each.compatibility_groups))
            for each in device.consumes_counters
        )
        """(counter set, compatibility groups) of each counter set that it consumes."""
        self.values: dict[str, frozenset[tuple[str, Any]]] = {}
        """Attribute values for constraints on lists; filled on first use."""
        self.variables: dict[str, Any] | None = None
        """The variables of CEL expressions; set on first use."""


class SliceEntry:
    """A slice, its devices, and the results of selectors for them.

    `verdicts` maps a list of selectors to one byte per device.
    """

    __slots__ = ("devices", "errors", "name", "node_name", "pool_id", "slice", "verdicts")

    def __init__(self, slice_: ResourceSlice) -> None:
        spec = slice_.spec
        self.slice = slice_
        self.name = slice_.name
        self.node_name = spec.node_name or ""
        self.pool_id = PoolID(spec.driver, spec.pool.name)
        flat = (device.flat() for device in spec.devices)
        self.devices = [PoolDevice(self, index, device) for index, device in enumerate(flat)]
        self.verdicts: dict[tuple[str, ...], bytearray] = {}
        self.errors: dict[tuple[tuple[str, ...], int], tuple[int, str, bool]] = {}

    @property
    def uses_compatibility_groups(self) -> bool:
        return any(groups for device in self.devices for _, groups in device.groups)


class Inventory:
    """Every slice, by node and by pool."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, SliceEntry]] = {}
        self.shared: dict[str, SliceEntry] = {}
        self.by_pool: dict[PoolID, dict[str, SliceEntry]] = {}
        self.changed: RowLog[str | None] = RowLog()
        self.node_versions: dict[str, int] = {}
        """By the nodes that have slices; no version is given twice, so that no reader of an earlier
        one takes a node for unchanged whose slices were deleted and made anew."""
        self.shared_version = 0
        self._slices: dict[str, SliceEntry] = {}
        self._rules: dict[str, DeviceTaintRule] = {}

    def __len__(self) -> int:
        return len(self._slices)

    def slices(self) -> Iterable[SliceEntry]:
        return self._slices.values()

    def put_slice(self, slice_: ResourceSlice) -> None:
        self._drop(slice_.name)
        entry = self._slices[slice_.name] = SliceEntry(slice_)
        self._apply_rules(entry)
        self.by_pool.setdefault(entry.pool_id, {})[entry.name] = entry
        if entry.node_name:
            self.by_node.setdefault(entry.node_name, {})[entry.name] = entry
        else:
            self.shared[entry.name] = entry
        self._note(entry)

    def remove_slice(self, slice_: ResourceSlice) -> None:
        self._drop(slice_.name)

    def put_rule(self, rule: DeviceTaintRule) -> None:
        self._rules[rule.name] = rule
        self._rules_changed()

    def remove_rule(self, rule: DeviceTaintRule) -> None:
        self._rules.pop(rule.name, None)
        self._rules_changed()

    def nodes_of(self, pool: PoolID) -> set[str] | None:
        """The nodes that reach a pool; None if not all its slices have a nodeName."""
        names = {entry.node_name for entry in self.by_pool.get(pool, {}).values()}
        return None if "" in names else names

    def pool_changed(self, pool: PoolID) -> None:
        """Log that the taken devices of a pool have changed."""
        names = self.nodes_of(pool)
        for name in (None,) if names is None else names:
            self.changed.append(name)

    def _drop(self, name: str) -> None:
        entry = self._slices.pop(name, None)
        if entry is None:
            return
        self._note(entry)
        pool = self.by_pool[entry.pool_id]
        del pool[name]
        if not pool:
            del self.by_pool[entry.pool_id]
        if entry.node_name:
            own = self.by_node[entry.node_name]
            del own[name]
            if not own:
                del self.by_node[entry.node_name]
                self.node_versions.pop(entry.node_name, None)
        else:
            del self.shared[name]

    def _note(self, entry: SliceEntry) -> None:
        """Log, for the nodes that reach its pool, that a slice was added or is removed."""
        names = self.nodes_of(entry.pool_id)
        if names is not None and len(names) == 1:
            node = entry.node_name
            self.changed.append(node)
            self.node_versions[node] = self.changed.version
        else:
            self.shared_version += 1
            self.changed.append(None)

    def _rules_changed(self) -> None:
        for entry in self._slices.values():
            if self._apply_rules(entry):
                self.changed.append(entry.node_name or None)

    def _apply_rules(self, entry: SliceEntry) -> bool:
        """Put the rules' taints on a slice's devices; whether that changed any."""
        changed = False
        for device in entry.devices:
            taints = (*device.device.taints, *self._rule_taints(device.id))
            changed = changed or taints != device.taints
            device.taints = taints
        return changed

    def _rule_taints(self, device: DeviceID) -> Iterable[DeviceTaint]:
        for rule in self._rules.values():
            chosen = rule.spec.device_selector
            if (
                chosen is not None
                and chosen.driver in (None, device.driver)
                and chosen.pool in (None, device.pool)
                and chosen.device in (None, device.device)
            ):
                yield rule.spec.taint
