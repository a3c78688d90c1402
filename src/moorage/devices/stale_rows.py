"""Rows of which something has changed that devices on a node depend on."""

from collections.abc import Callable, Sequence, Set
from typing import TypeVar

from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable
from moorage.devices.device_cache import DeviceCache

Result = TypeVar("Result")


class StaleRows:
    """Follows nodes, slices, taken devices and classes."""

    def __init__(self, devices: DeviceCache) -> None:
        self._devices = devices
        self._nodes: Follower[int] = Follower()
        self._changed: Follower[str | None] = Follower()
        self._classes = -1
        self._rows = -1

    def read(self, table: NodeTable, use: Callable[[Set[int] | None], Result]) -> Result:
        """What `use` makes of the rows that changed since the last call.

        It gets None if all must be searched anew, as after it raised.
        """
        return self._nodes.read(
            table.node_log,
            lambda nodes: self._changed.read(
                self._devices.inventory.changed,
                lambda changed: use(self._stale(table, nodes, changed)),
            ),
        )

    def _stale(
        self, table: NodeTable, nodes: Sequence[int] | None, changed: Sequence[str | None] | None
    ) -> Set[int] | None:
        known = self._classes, self._rows
        self._classes, self._rows = self._devices.classes.version, table.rows
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
