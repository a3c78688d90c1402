"""Where measurements come from: providers as plugin arguments, and the sources that feeds read.

    class Mine(Score, frozen=True):
        def sources(self) -> tuple[Source, ...]:
            return (UsageSource(UsageProvider()),)

Feeds write what they read to the stores of the plugin's profile. Equal sources are read once,
however many plugins and profiles list them.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, Protocol, cast, runtime_checkable

import msgspec

from moorage.config.durations import Duration
from moorage.config.types import ConfigStruct

KUBERNETES: Final = "KubernetesMetricsServer"
PROMETHEUS: Final = "Prometheus"
NO_PROVIDER: Final = "None"

CPU_QUERY: Final = 'sum by (instance) (rate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m]))'
MEMORY_QUERY: Final = "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes"
TEMPERATURE_QUERY: Final = "max by (instance) (node_hwmon_temp_celsius)"
POWER_QUERY: Final = "sum by (instance) (rate(node_rapl_package_joules_total[2m]))"


class Prometheus(ConfigStruct, frozen=True):
    """How to query a Prometheus server, and which node each sample belongs to.

    The label `nodeLabel` of a sample names a node: by its name, or by one of its addresses, with or
    without a port.
    """

    address: str = ""
    node_label: str = "instance"
    bearer_token_file: str = ""
    ca_file: str = ""
    insecure_skip_verify: bool = False
    interval: Duration = Duration.of_seconds(15)
    timeout: Duration = Duration.of_seconds(5)


class UsageProvider(Prometheus, frozen=True):
    """The source of node usage: metrics.k8s.io, Prometheus, or none.

    For Prometheus, `cpuQuery` returns cores and `memoryQuery` bytes, one sample per node.
    """

    type: Literal["KubernetesMetricsServer", "Prometheus", "None"] = KUBERNETES
    cpu_query: str = CPU_QUERY
    memory_query: str = MEMORY_QUERY


class EnergyProvider(Prometheus, frozen=True):
    """The source of node temperature and power: Prometheus, or none.

    `temperatureQuery` returns degrees Celsius and `powerQuery` watts. An empty query is not asked.
    """

    type: Literal["Prometheus", "None"] = NO_PROVIDER
    temperature_query: str = TEMPERATURE_QUERY
    power_query: str = POWER_QUERY


def provider_faults(args: dict[str, Any], *queries: str) -> Iterator[str]:
    """The faults of a provider among the arguments, each with its path."""
    given = args["metricProvider"]
    if given["type"] == PROMETHEUS:
        if not given["address"].startswith(("http://", "https://")):
            yield "metricProvider.address: the URL of a Prometheus server, such as " + (
                "http://prometheus.monitoring:9090"
            )
        if not any(given[query] for query in queries):
            yield f"metricProvider.{queries[0]}: nothing is asked for"
    elif given["address"]:
        yield f"metricProvider.type: must be {PROMETHEUS} for its address to be asked"
    yield from _not_positive(given, ("interval", "timeout"))


def _not_positive(given: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if Duration.parse(given[name]) <= 0:
            yield f"metricProvider.{name}: must be above 0s"


class Source(Protocol):
    """Something to read periodically; equal sources are the same one."""

    @property
    def name(self) -> str:
        """The name of the source in logs and metrics."""
        ...

    @property
    def seconds(self) -> float:
        """How often to read it, in seconds."""
        ...

    def __hash__(self) -> int: ...


class UsageSource(msgspec.Struct, frozen=True):
    """Node usage; written to the store that `usage_store` finds."""

    provider: UsageProvider

    @property
    def name(self) -> str:
        provider = self.provider
        return f"usage/{provider.address if provider.type == PROMETHEUS else 'metrics.k8s.io'}"

    @property
    def seconds(self) -> float:
        return self.provider.interval.seconds


class EnergySource(msgspec.Struct, frozen=True):
    """Node temperature and power; written to the store that `energy_store` finds."""

    provider: EnergyProvider

    @property
    def name(self) -> str:
        return f"energy/{self.provider.address}"

    @property
    def seconds(self) -> float:
        return self.provider.interval.seconds


class LatencyConfigMap(msgspec.Struct, frozen=True):
    """Latencies in a ConfigMap, with expiry; written to the store that `latency_store` finds."""

    namespace: str
    config_map: str
    seconds: float
    believed_seconds: float

    @property
    def name(self) -> str:
        return f"latency/{self.namespace}/{self.config_map}"


class LatencyFile(msgspec.Struct, frozen=True):
    """Latencies in a file, with expiry; written to the store that `latency_store` finds."""

    path: str
    seconds: float
    believed_seconds: float

    @property
    def name(self) -> str:
        return f"latency/{self.path}"


class StrategyConfigMap(msgspec.Struct, frozen=True):
    """What AdaptiveSchedulingPlugin learnt earlier; written to its `LearnedStrategies`."""

    namespace: str
    config_map: str
    seconds: float

    @property
    def name(self) -> str:
        return f"strategies/{self.namespace}/{self.config_map}"


class PriceConfigMap(msgspec.Struct, frozen=True):
    """Price tables, one per ConfigMap entry; written where `price_table` finds them."""

    namespace: str
    config_map: str
    seconds: float = 300.0

    @property
    def name(self) -> str:
        return f"prices/{self.namespace}/{self.config_map}"


class PriceFile(msgspec.Struct, frozen=True):
    """Prices in a file."""

    path: str
    seconds: float = 300.0

    @property
    def name(self) -> str:
        return f"prices/{self.path}"


def price_sources(config_map: str, file: str) -> tuple[Source, ...]:
    """The sources of a plugin's prices: a ConfigMap `NAMESPACE/NAME`, and a file."""
    namespace, _, name = config_map.partition("/")
    found: list[Source] = [PriceConfigMap(namespace, name)] if name else []
    return (*found, PriceFile(file)) if file else tuple(found)


def price_faults(args: dict[str, Any]) -> list[str]:
    """The faults of the arguments that name price tables."""
    namespace, _, name = args["priceConfigMap"].partition("/")
    if args["priceConfigMap"] and not (namespace and name):
        return ["priceConfigMap: NAMESPACE/NAME, or nothing"]
    if args["priceConfigMap"] and args["priceFile"]:
        return ["priceFile: a table is in a file or in a ConfigMap, not in both"]
    return []


class TopologySource(msgspec.Struct, frozen=True):
    """NodeResourceTopologies, if served; written where `served_zones` finds them."""

    seconds: float

    @property
    def name(self) -> str:
        return "topology/topology.node.k8s.io"


@runtime_checkable
class ReadsMeasurements(Protocol):
    """A plugin that lists sources to be read for it."""

    def sources(self) -> tuple[Source, ...]: ...


def listed_sources(plugin: object) -> tuple[Source, ...]:
    """The sources that a plugin lists.

    Its class is asked whether it lists any, because Python keeps that answer; it looks at an
    object's attributes anew each time, and feeds ask every plugin each second.
    """
    if issubclass(type(plugin), ReadsMeasurements):
        return cast("ReadsMeasurements", plugin).sources()
    return ()
