"""CSINode objects as columns: drivers installed, volume limits, migrated in-tree plugins.

| column             | dtype | meaning                                                         |
|--------------------|-------|-----------------------------------------------------------------|
| `present`          | bool  | the node has a CSINode                                          |
| `limited`          | bool  | it limits the volumes of some driver                            |
| `limit(driver)`    | int64 | how many volumes of a driver the node can attach                |
| `installed(d)`     | bool  | the driver is on the node                                       |
| `migrated(plugin)` | bool  | the in-tree plugin has moved to CSI there                       |

All are (row). The volume plugins of a profile share them, under the key "CSINode".
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.storage import CSINode
from moorage.cache.follower import Follower
from moorage.framework.cycle import Cycle
from moorage.plugins.volumes.csi_migration import MIGRATED_PLUGINS

Flags = NDArray[np.bool_]

NO_LIMIT: Final = np.iinfo(np.int64).max


class CSINodes:
    """The columns, and the objects they were read from."""

    def __init__(self) -> None:
        self.present: Flags = np.zeros(0, dtype=bool)
        self.limited: Flags = np.zeros(0, dtype=bool)
        self._limits: dict[str, NDArray[np.int64]] = {}
        self._installed: dict[str, Flags] = {}
        self._migrated: dict[str, Flags] = {}
        self._known: list[CSINode | None] = []
        self._version = -1
        self._nodes: Follower[int] = Follower()

    def limit(self, driver: str) -> NDArray[np.int64]:
        found = self._limits.get(driver)
        return found if found is not None else np.full(len(self.present), NO_LIMIT)

    def installed(self, driver: str) -> Flags:
        found = self._installed.get(driver)
        return found if found is not None else np.zeros(len(self.present), dtype=bool)

    def migrated(self, plugin: str) -> Flags:
        found = self._migrated.get(plugin)
        return found if found is not None else np.zeros(len(self.present), dtype=bool)

    def catch_up(self, cycle: Cycle) -> None:
        table, objects = cycle.table, cycle.cache.objects
        version = objects.version(CSINode)
        if version == self._version and not self._nodes.is_behind(table.node_log):
            return
        self._grow(len(table.alive))
        if version != self._version:
            self._nodes.forget()

        def read(row: int) -> None:
            node = table.nodes[row]
            found = objects.get(CSINode, node.name) if node is not None else None
            if found is not self._known[row]:
                self._put(row, found)

        self._nodes.apply(table.node_log, lambda: range(table.rows), read)
        self._version = version

    def _put(self, row: int, found: CSINode | None) -> None:
        self._known[row] = found
        self._clear(row)
        if found is None:
            return
        self.present[row] = True
        for driver in found.spec.drivers:
            self._flags(self._installed, driver.name)[row] = True
            count = driver.allocatable.count if driver.allocatable is not None else None
            if count is not None:
                self.limited[row] = True
                self._limit_column(driver.name)[row] = count
        for plugin in found.annotations.get(MIGRATED_PLUGINS, "").split(","):
            if plugin:
                self._flags(self._migrated, plugin)[row] = True

    def _clear(self, row: int) -> None:
        self.present[row] = self.limited[row] = False
        for limits in self._limits.values():
            limits[row] = NO_LIMIT
        for flags in (*self._installed.values(), *self._migrated.values()):
            flags[row] = False

    def _flags(self, columns: dict[str, Flags], name: str) -> Flags:
        if name not in columns:
            columns[name] = np.zeros(len(self.present), dtype=bool)
        return columns[name]

    def _limit_column(self, driver: str) -> NDArray[np.int64]:
        if driver not in self._limits:
            self._limits[driver] = np.full(len(self.present), NO_LIMIT)
        return self._limits[driver]

    def _grow(self, capacity: int) -> None:
        missing = capacity - len(self.present)
        if not missing:
            return
        no, none = np.zeros(missing, dtype=bool), np.full(missing, NO_LIMIT)
        self.present = np.concatenate((self.present, no))
        self.limited = np.concatenate((self.limited, no))
        for columns in (self._installed, self._migrated):
            columns.update({k: np.concatenate((v, no)) for k, v in columns.items()})
        self._limits = {k: np.concatenate((v, none)) for k, v in self._limits.items()}
        self._known.extend([None] * missing)


def csi_nodes(cycle: Cycle) -> CSINodes:
    """The columns, brought up to date."""
    columns: CSINodes = cycle.shared.setdefault("CSINode", CSINodes())
    columns.catch_up(cycle)
    return columns
