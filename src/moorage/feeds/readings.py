"""What a feed has read (usage, energy, latencies), and the protocol of its readers."""

from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from moorage.policies.business import price_table
from moorage.policies.business.price_table import PriceTable
from moorage.policies.telemetry import latency_measurements, node_measurements
from moorage.policies.telemetry.node_measurements import Energy, Usage
from moorage.watch.api_resources import RESOURCES

CONFIG_MAPS: Final = RESOURCES["configmaps"]


class FeedError(Exception):
    """A source could not be read: what went wrong, and what to do about it."""


class Reading(Protocol):
    """Everything that was read at once."""

    def write(self, shared: dict[str, Any]) -> None:
        """Record it in the store of a profile."""
        ...

    @property
    def values(self) -> object:
        """What was measured, whenever that was: equal readings bring nothing new."""
        ...


class Usages(msgspec.Struct, frozen=True):
    """What nodes use."""

    found: dict[str, Usage]

    def write(self, shared: dict[str, Any]) -> None:
        store = node_measurements.usage_store(shared)
        for node, usage in self.found.items():
            store.record(node, usage)

    @property
    def values(self) -> object:
        return {node: (usage.cpu, usage.memory) for node, usage in self.found.items()}


class Energies(msgspec.Struct, frozen=True):
    """How hot nodes are, and what they draw."""

    found: dict[str, Energy]

    def write(self, shared: dict[str, Any]) -> None:
        store = node_measurements.energy_store(shared)
        for node, energy in self.found.items():
            store.record(node, energy)

    @property
    def values(self) -> object:
        return {node: (energy.celsius, energy.watts) for node, energy in self.found.items()}


class Latencies(msgspec.Struct, frozen=True):
    """Milliseconds and when they were measured, by where from and where to."""

    found: dict[tuple[str, str], tuple[float, float]]

    def write(self, shared: dict[str, Any]) -> None:
        store = latency_measurements.latency_store(shared)
        for (start, end), (milliseconds, at) in self.found.items():
            store.record(start, end, milliseconds, at)

    @property
    def values(self) -> object:
        return {pair: milliseconds for pair, (milliseconds, _) in self.found.items()}


class Prices(msgspec.Struct, frozen=True):
    """What instances cost."""

    table: PriceTable

    def write(self, shared: dict[str, Any]) -> None:
        shared[price_table.PRICES] = self.table

    @property
    def values(self) -> object:
        return self.table.version


class Reader(Protocol):
    """Whoever reads one source."""

    async def read(self) -> Reading:
        """What the source says now; raises a FeedError where it says nothing."""
        ...

    async def close(self) -> None:
        """Nobody will read any more."""
        ...


@runtime_checkable
class WatchedReader(Protocol):
    """A reader that knows when its source says something else."""

    async def changed(self) -> bool:
        """Return True when the source has changed since it was read; False: nobody can tell."""
        ...
