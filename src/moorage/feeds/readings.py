"""What a feed has read (usage, energy, latencies, ...), and the protocol of readers."""

from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from moorage.policies.business import price_table
from moorage.policies.business.price_table import PriceTable
from moorage.policies.telemetry import latency_measurements, node_measurements
from moorage.policies.telemetry.node_measurements import Energy, Usage
from moorage.watch.api_resources import RESOURCES

CONFIG_MAPS: Final = RESOURCES["configmaps"]


class FeedError(Exception):
    """A source could not be read; the message tells what went wrong, and what to do about it."""


class Reading(Protocol):
    """The result of one read."""

    def write(self, shared: dict[str, Any]) -> None:
        """Write it to the store of a profile."""
        ...

    @property
    def values(self) -> object:
        """The measured values without their times; equal values bring nothing new."""
        ...


class Usages(msgspec.Struct, frozen=True):
    """The usage of nodes."""

    found: dict[str, Usage]

    def write(self, shared: dict[str, Any]) -> None:
        store = node_measurements.usage_store(shared)
        for node, usage in self.found.items():
            store.record(node, usage)

    @property
    def values(self) -> object:
        return {node: (usage.cpu, usage.memory) for node, usage in self.found.items()}


class Energies(msgspec.Struct, frozen=True):
    """The temperature and power of nodes."""

    found: dict[str, Energy]

    def write(self, shared: dict[str, Any]) -> None:
        store = node_measurements.energy_store(shared)
        for node, energy in self.found.items():
            store.record(node, energy)

    @property
    def values(self) -> object:
        return {node: (energy.celsius, energy.watts) for node, energy in self.found.items()}


class Latencies(msgspec.Struct, frozen=True):
    """Milliseconds and time of measurement, by start and end."""

    found: dict[tuple[str, str], tuple[float, float]]

    def write(self, shared: dict[str, Any]) -> None:
        store = latency_measurements.latency_store(shared)
        for (start, end), (milliseconds, at) in self.found.items():
            store.record(start, end, milliseconds, at)

    @property
    def values(self) -> object:
        return {pair: milliseconds for pair, (milliseconds, _) in self.found.items()}


class Prices(msgspec.Struct, frozen=True):
    """The prices of instances."""

    table: PriceTable

    def write(self, shared: dict[str, Any]) -> None:
        shared[price_table.PRICES] = self.table

    @property
    def values(self) -> object:
        return self.table.version


class Reader(Protocol):
    """Reads one source."""

    async def read(self) -> Reading:
        """The current contents of the source; raises a FeedError if it has none."""
        ...

    async def close(self) -> None:
        """Close the reader: nobody will read any more."""
        ...


@runtime_checkable
class WatchedReader(Protocol):
    """A reader that notices when its source changes."""

    async def changed(self) -> bool:
        """Return True when the source has changed since the last read; False: it cannot tell."""
        ...
