"""Usage and energy as Prometheus knows them."""

import math
from typing import Final

from moorage.feeds.prometheus import Names, PrometheusClient, Samples
from moorage.feeds.readings import Energies, FeedError, Usages
from moorage.policies.energies import Energy
from moorage.policies.metrics import Usage
from moorage.policies.providers import EnergyProvider, Prometheus, UsageProvider

_MILLICORES: Final = 1000
_NOTHING: Final = (math.nan, math.nan)


class PrometheusUsage:
    """Reads what nodes use: cores and bytes."""

    def __init__(self, provider: UsageProvider, names: Names) -> None:
        self._client = PrometheusClient(provider, names)
        self._provider = provider

    async def read(self) -> Usages:
        """What every node uses that Prometheus knows."""
        provider = self._provider
        cpu, memory = await self._client.ask([provider.cpu_query, provider.memory_query])
        return Usages(
            {
                node: Usage(_value(cpu, node) * _MILLICORES, _value(memory, node), at)
                for node, at in _measured(provider, cpu, memory).items()
            }
        )

    async def close(self) -> None:
        await self._client.close()


class PrometheusEnergy:
    """Reads how hot nodes are and what they draw: degrees and watts."""

    def __init__(self, provider: EnergyProvider, names: Names) -> None:
        self._client = PrometheusClient(provider, names)
        self._provider = provider

    async def read(self) -> Energies:
        """What Prometheus knows of every node."""
        provider = self._provider
        heat, power = await self._client.ask([provider.temperature_query, provider.power_query])
        return Energies(
            {
                node: Energy(_value(heat, node), _value(power, node), at)
                for node, at in _measured(provider, heat, power).items()
            }
        )

    async def close(self) -> None:
        await self._client.close()


def _measured(provider: Prometheus, *answers: Samples) -> dict[str, float]:
    """When each node was measured."""
    times = {node: at for answer in answers for node, (_, at) in answer.items()}
    if not times:
        raise FeedError(
            f"{provider.address}: no answer speaks of a node by its name or address in the label "
            f"{provider.node_label!r}: look at the queries, and at nodeLabel"
        )
    return times


def _value(answer: Samples, node: str) -> float:
    return answer.get(node, _NOTHING)[0]
