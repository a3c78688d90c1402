"""What a plugin wants to be fed with: it lists sources, and `moorage.feeds` reads them.

    class Mine(Score, frozen=True):
        def sources(self) -> tuple[Source, ...]:
            return (UsageSource(UsageProvider()),)

What is read goes to the stores of the plugin's profile. Equal sources are read once, however many
plugins and profiles list them.
"""

from typing import Protocol, runtime_checkable

import msgspec

from moorage.policies.providers import PROMETHEUS, EnergyProvider, UsageProvider


class Source(Protocol):
    """Something to read now and again; equal sources are the same one."""

    @property
    def name(self) -> str:
        """The source in logs and metrics."""
        ...

    @property
    def seconds(self) -> float:
        """How often to read it."""
        ...

    def __hash__(self) -> int: ...


class UsageSource(msgspec.Struct, frozen=True):
    """What nodes use; goes to `metrics.store`."""

    provider: UsageProvider

    @property
    def name(self) -> str:
        provider = self.provider
        return f"usage/{provider.address if provider.type == PROMETHEUS else 'metrics.k8s.io'}"

    @property
    def seconds(self) -> float:
        return self.provider.interval.seconds


class EnergySource(msgspec.Struct, frozen=True):
    """How hot nodes are, and what they draw; goes to `energies.store`."""

    provider: EnergyProvider

    @property
    def name(self) -> str:
        return f"energy/{self.provider.address}"

    @property
    def seconds(self) -> float:
        return self.provider.interval.seconds


class LatencyConfigMap(msgspec.Struct, frozen=True):
    """Latencies in a ConfigMap, each believed for a while; goes to `latencies.store`."""

    namespace: str
    config_map: str
    seconds: float
    believed_seconds: float

    @property
    def name(self) -> str:
        return f"latency/{self.namespace}/{self.config_map}"


class LatencyFile(msgspec.Struct, frozen=True):
    """Latencies in a file, each believed for a while; goes to `latencies.store`."""

    path: str
    seconds: float
    believed_seconds: float

    @property
    def name(self) -> str:
        return f"latency/{self.path}"


@runtime_checkable
class Fed(Protocol):
    """A plugin that wants to be fed."""

    def sources(self) -> tuple[Source, ...]: ...
