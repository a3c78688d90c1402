"""Where measurements come from, as arguments of the policies that want them.

`moorage.feeds` reads these and fetches; nothing here does.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from moorage.config.durations import Duration
from moorage.config.types import ConfigStruct

KUBERNETES: Final = "KubernetesMetricsServer"
PROMETHEUS: Final = "Prometheus"
NONE: Final = "None"

CPU_QUERY: Final = 'sum by (instance) (rate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m]))'
MEMORY_QUERY: Final = "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes"
TEMPERATURE_QUERY: Final = "max by (instance) (node_hwmon_temp_celsius)"
POWER_QUERY: Final = "sum by (instance) (rate(node_rapl_package_joules_total[2m]))"


class Prometheus(ConfigStruct, frozen=True):
    """How to ask a Prometheus server, and whose each answer is.

    The label `nodeLabel` of an answer names a node: by its name, or by one of its addresses, with a
    port or without.
    """

    address: str = ""
    node_label: str = "instance"
    bearer_token_file: str = ""
    ca_file: str = ""
    insecure_skip_verify: bool = False
    interval: Duration = Duration.of_seconds(15)
    timeout: Duration = Duration.of_seconds(5)


class UsageProvider(Prometheus, frozen=True):
    """Who measures what nodes use: metrics.k8s.io, Prometheus, or nobody.

    Of Prometheus, `cpuQuery` asks for cores and `memoryQuery` for bytes, one answer per node.
    """

    type: Literal["KubernetesMetricsServer", "Prometheus", "None"] = KUBERNETES
    cpu_query: str = CPU_QUERY
    memory_query: str = MEMORY_QUERY


class EnergyProvider(Prometheus, frozen=True):
    """Who measures how hot nodes are and what they draw: Prometheus, or nobody.

    `temperatureQuery` asks for degrees Celsius and `powerQuery` for watts; an empty one asks for
    nothing.
    """

    type: Literal["Prometheus", "None"] = NONE
    temperature_query: str = TEMPERATURE_QUERY
    power_query: str = POWER_QUERY


def faults(args: dict[str, Any], *queries: str) -> Iterator[str]:
    """What is wrong with a provider among arguments, each line with its place."""
    given = args["metricProvider"]
    if given["type"] == PROMETHEUS:
        if not given["address"].startswith(("http://", "https://")):
            yield "metricProvider.address: the URL of a Prometheus server, such as " + (
                "http://prometheus.monitoring:9090"
            )
        if not any(given[query] for query in queries):
            yield f"metricProvider.{queries[0]}: nothing is asked for"
    yield from _not_positive(given, ("interval", "timeout"))


def _not_positive(given: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if Duration.parse(given[name]) <= 0:
            yield f"metricProvider.{name}: must be above 0s"
