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


class Source(msgspec.Struct, frozen=True):
    """Something to read now and again."""

    @property
    def name(self) -> str:
        """The source in logs and metrics."""
        raise NotImplementedError

    @property
    def seconds(self) -> float:
        """How often to read it."""
        raise NotImplementedError


class UsageSource(Source, frozen=True):
    """What nodes use; goes to `metrics.store`."""

    provider: UsageProvider

    @property
    def name(self) -> str:
        provider = self.provider
        return f"usage/{provider.address if provider.type == PROMETHEUS else 'metrics.k8s.io'}"

    @property
    def seconds(self) -> float:
        return self.provider.interval.seconds


class EnergySource(Source, frozen=True):
    """How hot nodes are, and what they draw; goes to `energies.store`."""

    provider: EnergyProvider

    @property
    def name(self) -> str:
        return f"energy/{self.provider.address}"

    @property
    def seconds(self) -> float:
        return self.provider.interval.seconds


class LatencyConfigMap(Source, frozen=True):
    """Latencies in a ConfigMap, each believed for a while; goes to `latencies.store`."""

    namespace: str
    config_map: str
    seconds: float
    believed_seconds: float

    @property
    def name(self) -> str:
        return f"latency/{self.namespace}/{self.config_map}"


class LatencyFile(Source, frozen=True):
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
