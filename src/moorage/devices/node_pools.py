"""The pools that a node reaches: complete, incomplete or invalid.

Only slices of a pool's newest generation count. A pool with missing slices is incomplete; one with
contradictory slices is invalid. Nothing is allocated from either.
"""

from collections.abc import Container, Hashable, Iterable
from typing import Final, NamedTuple

from moorage.api.affinity import NodeSelector
from moorage.api.node import Node
from moorage.api.node_selectors import compile_node_selector
from moorage.devices.feature_gates import DEFAULT, Features
from moorage.devices.inventory import Inventory, PoolDevice, PoolID, SliceEntry, nano
from moorage.devices.selection import MOST_KEPT


class PoolsError(Exception):
    """Slices that cannot be interpreted."""


class Pool:
    """A pool as one node sees it."""

    __slots__ = ("counter_sets", "id", "incomplete", "invalid", "others", "slices")

    def __init__(self, id_: PoolID) -> None:
        self.id = id_
        self.incomplete = False
        self.invalid = ""
        """Why it is invalid; empty if it is valid."""
        self.slices: list[SliceEntry] = []
        self.others: list[SliceEntry] = []
        """Slices of the pool that the node does not reach."""
        self.counter_sets: dict[str, dict[str, int]] = {}

    @property
    def has_binding_conditions(self) -> bool:
        return any(
            device.device.binding_conditions for entry in self.slices for device in entry.devices
        )


class Candidate(NamedTuple):
    """A device that a node reaches."""

    device: PoolDevice
    pool: Pool


class NodePools:
    """The pools of a node in kube's order, and the devices in them that may be allocated."""

    __slots__ = ("_looked_at", "candidates", "pools")

    def __init__(self, pools: list[Pool]) -> None:
        self.pools = pools
        self.candidates = [
            Candidate(device, pool)
            for pool in pools
            if not pool.incomplete and not pool.invalid
            for entry in pool.slices
            for device in entry.devices
        ]
        self._looked_at: dict[Hashable, bytearray] = {}

    def looked_at(self, asked: Hashable) -> bytearray:
        """One byte per candidate, in which searches with equal requests note what is known."""
        found = self._looked_at.get(asked)
        if found is None:
            if len(self._looked_at) >= MOST_KEPT:
                self._looked_at.clear()
            found = self._looked_at[asked] = bytearray(len(self.candidates))
        return found


LOOKED_THROUGH_FROM: Final = 64
"""How many nodes' pools are kept before those of deleted nodes are looked for."""


class PoolIndex:
    """The pools of each node, kept until its slices or its labels change.

    `nodes` are the names of the nodes that there are; those of others are dropped now and then.
    """

    def __init__(self, inventory: Inventory, nodes: Container[str] = ()) -> None:
        self._inventory = inventory
        self._nodes = nodes
        self._most = LOOKED_THROUGH_FROM
        self._kept: dict[tuple[str, bool], tuple[int, int, Node, NodePools]] = {}

    def of(self, node: Node, features: Features = DEFAULT) -> NodePools:
        inventory = self._inventory
        shared, own = inventory.shared_version, inventory.node_versions.get(node.name, 0)
        key = node.name, features.compatibility_groups
        kept = self._kept.get(key)
        if kept is not None and kept[0] == shared and kept[1] == own and kept[2] is node:
            return kept[3]
        found = NodePools(gather_pools(inventory, node, features))
        self._kept[key] = (shared, own, node, found)
        if len(self._kept) > self._most:
            self._kept = {
                kept: pools for kept, pools in self._kept.items() if kept[0] in self._nodes
            }
            self._most = 2 * len(self._kept) + LOOKED_THROUGH_FROM
        return found


def gather_pools(inventory: Inventory, node: Node, features: Features) -> list[Pool]:
    """Every pool with devices that the node reaches; those that need binding come last.

    A slice with compatibility groups is left out if that feature is off: its pool is incomplete.
    """
    reached: dict[PoolID, list[SliceEntry]] = {}
    for entry in (*inventory.by_node.get(node.name, {}).values(), *inventory.shared.values()):
        if _counts(entry, features) and is_reached(entry, node):
            _add_newest(reached, entry)
    pools = [
        pool
        for id_, entries in reached.items()
        if (pool := _pool(inventory, id_, entries, features)) is not None
    ]
    return sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id))


def _counts(entry: SliceEntry, features: Features) -> bool:
    return features.compatibility_groups or not entry.uses_compatibility_groups


def is_reached(entry: SliceEntry, node: Node) -> bool:
    """Whether any device of a slice is reached from the node."""
    spec = entry.slice.spec
    if entry.node_name or spec.all_nodes or spec.node_selector is not None:
        return node_matches(node, entry.node_name, bool(spec.all_nodes), spec.node_selector)
    if spec.per_device_node_selection:
        return any(device_is_reached(device, node) for device in entry.devices)
    return False


def device_is_reached(device: PoolDevice, node: Node) -> bool:
    """Whether a device that names its own nodes names this one."""
    own = device.device
    return node_matches(node, own.node_name or "", bool(own.all_nodes), own.node_selector)


def node_matches(node: Node, name: str, everywhere: bool, selector: NodeSelector | None) -> bool:
    if name:
        return node.name == name
    if everywhere:
        return True
    if selector is None:
        return False
    terms, error = compile_node_selector(selector)
    if error is not None:
        raise PoolsError(f"failed to parse node selector: {error}")
    return any(term.matches(node) for term in terms)


def _add_newest(reached: dict[PoolID, list[SliceEntry]], entry: SliceEntry) -> None:
    known = reached.get(entry.pool_id)
    generation = entry.slice.spec.pool.generation
    if known is None or generation > known[0].slice.spec.pool.generation:
        reached[entry.pool_id] = [entry]
    elif generation == known[0].slice.spec.pool.generation:
        known.append(entry)


def _pool(
    inventory: Inventory, id_: PoolID, entries: list[SliceEntry], features: Features
) -> Pool | None:
    """The pool; None if the node reaches only a generation that is being replaced."""
    first = entries[0].slice.spec.pool
    every: list[SliceEntry] = []
    if len(entries) != first.resource_slice_count:
        all_of_pool = inventory.by_pool[id_].values()
        if any(each.slice.spec.pool.generation > first.generation for each in all_of_pool):
            return None
        every = [
            each
            for each in all_of_pool
            if each.slice.spec.pool.generation == first.generation and _counts(each, features)
        ]
        if len(every) != first.resource_slice_count:
            pool = Pool(id_)
            pool.incomplete = True
            return pool
    return _build(id_, sorted(entries, key=lambda each: each.name), every)


def _build(id_: PoolID, entries: list[SliceEntry], every: list[SliceEntry]) -> Pool:
    pool = Pool(id_)
    names = {entry.name for entry in entries}
    outside = [entry for entry in every if entry.name not in names]
    counters = [entry for entry in (*entries, *outside) if entry.slice.spec.shared_counters]
    devices = [entry for entry in entries if not entry.slice.spec.shared_counters]
    others = [entry for entry in outside if not entry.slice.spec.shared_counters]
    pool.invalid = (
        _duplicate_device(devices)
        or _read_counter_sets(pool, counters)
        or _unknown_counter(pool, (*devices, *others))
    )
    if not pool.invalid:
        pool.slices, pool.others = devices, others
    return pool


def _duplicate_device(entries: Iterable[SliceEntry]) -> str:
    seen: set[str] = set()
    for entry in entries:
        for device in entry.devices:
            if device.id.device in seen:
                return f"duplicate device name {device.id.device}"
            seen.add(device.id.device)
    return ""


def _read_counter_sets(pool: Pool, entries: Iterable[SliceEntry]) -> str:
    for entry in entries:
        for shared in entry.slice.spec.shared_counters:
            if shared.name in pool.counter_sets:
                return f"duplicate counter set name {shared.name}"
            pool.counter_sets[shared.name] = {
                name: nano(counter.value) for name, counter in shared.counters.items()
            }
    return ""


def _unknown_counter(pool: Pool, entries: Iterable[SliceEntry]) -> str:
    for entry in entries:
        for device in entry.devices:
            for consumption in device.device.consumes_counters:
                known = pool.counter_sets.get(consumption.counter_set)
                if known is None:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if name not in known:
                        return f"counter {name} not found in counter set {consumption.counter_set}"
    return ""
