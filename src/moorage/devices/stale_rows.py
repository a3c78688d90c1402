"""Rows of which something has changed that devices on a node depend on."""

from collections.abc import Set

from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable
from moorage.devices.device_cache import DeviceCache


class StaleRows:
    """Follows nodes, slices, taken devices and classes."""

    def __init__(self, devices: DeviceCache) -> None:
        self._devices = devices
        self._nodes: Follower[int] = Follower()
        self._changed: Follower[str | None] = Follower()
        self._classes = -1
        self._rows = -1

    def missed(self, table: NodeTable) -> Set[int] | None:
        """The rows that changed since the last call; None if all must be searched anew."""
        devices = self._devices
        nodes = self._nodes.missed(table.node_log)
        changed = self._changed.missed(devices.inventory.changed)
        known = self._classes, self._rows
        self._classes, self._rows = devices.classes.version, table.rows
        if (
            nodes is None
            or changed is None
            or None in changed
            or known != (self._classes, self._rows)
        ):
            return None
        if not nodes and not changed:
            return frozenset()
        rows = {table.row_of.get(name, -1) for name in changed if name is not None}
        return (rows | set(nodes)) - {-1}
