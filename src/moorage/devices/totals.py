"""How many devices of a class each node reaches, and how many of them are taken.

It is what scorers count of an extended resource that devices stand for. As in kube-scheduler every
slice counts, whole or not, and no taint does; where something about a node's devices cannot be
evaluated, the node has none.
"""

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.resource_slices import DeviceClass
from moorage.cache.table import NodeTable
from moorage.devices.device_cache import DeviceCache
from moorage.devices.inventory import PoolDevice
from moorage.devices.node_pools import PoolsError, device_is_reached, is_reached
from moorage.devices.requests import expressions
from moorage.devices.selection import SelectionError, matches
from moorage.devices.stale_rows import StaleRows

NONE = 0, 0


class DeviceTotals:
    """The devices of one class by node.  offered, taken: int64 (row)"""

    def __init__(self, devices: DeviceCache) -> None:
        self._devices = devices
        self._stale = StaleRows(devices)
        self.offered: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.taken: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def catch_up(self, table: NodeTable, cls: DeviceClass) -> None:
        """Count anew where something has changed."""
        self._stale.read(table, lambda stale: self._update(table, cls, stale))

    def _update(self, table: NodeTable, cls: DeviceClass, stale: Set[int] | None) -> None:
        if stale is None:
            self.offered = np.zeros(table.rows, dtype=np.int64)
            self.taken = np.zeros(table.rows, dtype=np.int64)
            stale = frozenset(range(table.rows))
        selectors = expressions(cls.spec.selectors)
        for row in stale:
            node = table.nodes[row]
            self.offered[row], self.taken[row] = (
                NONE if node is None else self._count(node, selectors)
            )

    def _count(self, node: Node, selectors: tuple[str, ...]) -> tuple[int, int]:
        ledger = self._devices.claims.ledger
        try:
            chosen = [each for each in self._reached(node) if matches(selectors, each)]
        except (PoolsError, SelectionError):
            return NONE
        return len(chosen), sum(ledger.is_allocated(each.id) for each in chosen)

    def _reached(self, node: Node) -> list[PoolDevice]:
        inventory = self._devices.inventory
        return [
            device
            for entry in (
                *inventory.by_node.get(node.name, {}).values(),
                *inventory.shared.values(),
            )
            if is_reached(entry, node)
            for device in entry.devices
            if not entry.slice.spec.per_device_node_selection or device_is_reached(device, node)
        ]


def device_totals(devices: DeviceCache, table: NodeTable, cls: DeviceClass) -> DeviceTotals:
    """The totals of a class, as things stand now."""
    found: DeviceTotals | None = devices.totals.get(cls.name)
    if found is None:
        found = devices.totals[cls.name] = DeviceTotals(devices)
    found.catch_up(table, cls)
    return found


def totals_version(devices: DeviceCache) -> tuple[int, int]:
    """The same as long as no node's totals have changed but for a change of the node."""
    return devices.inventory.changed.version, devices.classes.version
