"""What the cache does not know of nodes: measured usage and prices."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, MEMORY
from moorage.cache.table import NodeTable
from moorage.cycle.profile import Profile
from moorage.policies.business import price_table
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.telemetry.node_measurements import (
    USAGE_STORE,
    annotated_columns,
    usage_columns,
)

Floats = NDArray[np.float64]


class NodeMeasures(Protocol):
    """Usage and prices of all rows at once, NaN if unknown."""

    def read(self, table: NodeTable) -> Iterable[object]:
        """Read what `usage` and `prices` return, in pieces: the first time is slow."""
        ...

    def usage(self, table: NodeTable) -> Floats:
        """The used share of CPU or memory, whichever is larger.  (row)"""
        ...

    def prices(self, table: NodeTable) -> Floats:
        """The price per hour of each node.  (row)"""
        ...


class _Nothing:
    def read(self, table: NodeTable) -> Iterable[object]:
        return ()

    def usage(self, table: NodeTable) -> Floats:
        return np.full(table.rows, np.nan)

    prices = usage


NO_MEASURES: Final[NodeMeasures] = _Nothing()


class ProfileMeasures:
    """What the active profiles know: measurements of feeds, and prices of their cost policy."""

    def __init__(self, profiles: Callable[[], Mapping[str, Profile]]) -> None:
        self._profiles = profiles

    def read(self, table: NodeTable) -> Iterable[object]:
        return annotated_columns(table)

    def usage(self, table: NodeTable) -> Floats:
        known = [each.shared for each in self._profiles().values() if USAGE_STORE in each.shared]
        shared: dict[str, Any] = known[0] if known else {}
        found, rows = usage_columns(table, shared), table.rows
        cpu = found.cpu[:rows] / table.allocatable_f8[CPU, :rows]
        memory = found.memory[:rows] / table.allocatable_f8[MEMORY, :rows]
        return np.fmax(cpu, memory).round(3)

    def prices(self, table: NodeTable) -> Floats:
        for profile in self._profiles().values():
            plugin = profile.plugins.get(CostOptimizationPlugin.plugin_name())
            if isinstance(plugin, CostOptimizationPlugin):
                known = price_table.price_table(profile.shared)
                return plugin.prices.prices(Nodes.all(table), known)[: table.rows].round(4)
        return np.full(table.rows, np.nan)
