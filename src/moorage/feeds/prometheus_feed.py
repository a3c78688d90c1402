"""Reads node usage and energy from a Prometheus server by instant queries."""

import asyncio
import math
import ssl
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from moorage import __version__
from moorage.api.node import HOSTNAME_LABEL, Node
from moorage.feeds.readings import Energies, FeedError, Usages
from moorage.policies.telemetry.metric_sources import EnergyProvider, Prometheus, UsageProvider
from moorage.policies.telemetry.node_measurements import Energy, Usage
from moorage.tls_trust import trusting


def node_names_by_alias(nodes: Iterable[Node]) -> dict[str, str]:
    """Node names by every alias: addresses, hostname label, name. Names win over addresses."""
    found: dict[str, str] = {}
    known = list(nodes)
    for node in known:
        for address in node.status.addresses:
            found[address.address] = node.name
        found[node.labels.get(HOSTNAME_LABEL, node.name)] = node.name
    found.update((node.name, node.name) for node in known)
    return found


def find_node_name(names: dict[str, str], said: str) -> str | None:
    """The node that a label's value means, or None if no alias matches."""
    return names.get(said) or names.get(without_port(said))


def without_port(said: str) -> str:
    """A host without its port, an IPv6 address without its brackets."""
    if said.startswith("["):
        return said[1:].partition("]")[0]
    host, _, port = said.rpartition(":")
    return host if host and port.isdigit() and ":" not in host else said


QUERY_PATH: Final = "/api/v1/query"
_EXCERPT: Final = 200

NodeAliases = Callable[[], dict[str, str]]
"""Node names by every alias."""


class _Sample(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data | None = None
    error: str = ""


Samples = dict[str, tuple[float, float]]
"""Value and time by node."""


class PrometheusClient:
    """Queries one Prometheus server; token and certificates are read again each time."""

    def __init__(self, provider: Prometheus, names: NodeAliases) -> None:
        self._provider = provider
        self._names = names
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, queries: Sequence[str]) -> list[Samples]:
        """The answers to some queries, all sent at once; an empty query has no answer."""
        names = self._names()
        found = await asyncio.gather(*(self._ask(query) for query in queries))
        return [self._by_node(samples, names) for samples in found]

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, query: str) -> list[_Sample]:
        if not query:
            return []
        address = self._provider.address.rstrip("/") + QUERY_PATH
        try:
            async with self._open().post(
                address,
                data={"query": query},
                headers=self._headers(),
                ssl=self._tls(),
                allow_redirects=False,
            ) as response:
                body = await response.read()
        except TimeoutError:
            raise FeedError(f"{address}: no answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise FeedError(f"{address}: {error}") from None
        return _decode_samples(address, query, response.status, body)

    def _by_node(self, samples: list[_Sample], names: dict[str, str]) -> Samples:
        found: Samples = {}
        for sample in samples:
            said = sample.metric.get(self._provider.node_label, "")
            node, value = find_node_name(names, said), float(sample.value[1])
            if node is not None and math.isfinite(value):
                found[node] = (value, sample.value[0])
        return found

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._provider.timeout.seconds)
            agent = {"User-Agent": f"moorage/{__version__}"}
            self._session = aiohttp.ClientSession(timeout=timeout, headers=agent)
        return self._session

    def _headers(self) -> dict[str, str]:
        """The token, read each time because it may have been renewed."""
        file = self._provider.bearer_token_file
        return {"Authorization": f"Bearer {Path(file).read_text().strip()}"} if file else {}

    def _tls(self) -> ssl.SSLContext | bool:
        provider = self._provider
        if provider.insecure_skip_verify:
            return False
        return trusting(cafile=provider.ca_file) if provider.ca_file else True


def _decode_samples(address: str, query: str, status: int, body: bytes) -> list[_Sample]:
    """The vector of an answer; raises a FeedError that tells what was wrong."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError:
        said = body[:_EXCERPT].decode(errors="replace").strip()
        raise FeedError(f"{address}: {status}: {said}") from None
    if answer.status != "success" or answer.data is None:
        raise FeedError(f"{address}: {query}: {answer.error or status}")
    if answer.data.result_type != "vector":
        kind = answer.data.result_type
        raise FeedError(f"{address}: {query}: gives a {kind}, where one value per node is needed")
    found: list[Any] = msgspec.json.decode(answer.data.result, type=list[_Sample])
    return found


_MILLICORES: Final = 1000
_NOTHING: Final = (math.nan, math.nan)


class PrometheusUsage:
    """Reads node usage: cores and bytes."""

    def __init__(self, provider: UsageProvider, names: NodeAliases) -> None:
        self._client = PrometheusClient(provider, names)
        self._provider = provider

    async def read(self) -> Usages:
        """The usage of every node that Prometheus knows."""
        provider = self._provider
        cpu, memory = await self._client.ask([provider.cpu_query, provider.memory_query])
        return Usages(
            {
                node: Usage(_value(cpu, node) * _MILLICORES, _value(memory, node), at)
                for node, at in _measured_at(provider, cpu, memory).items()
            }
        )

    async def close(self) -> None:
        await self._client.close()


class PrometheusEnergy:
    """Reads node temperature and power: degrees Celsius and watts."""

    def __init__(self, provider: EnergyProvider, names: NodeAliases) -> None:
        self._client = PrometheusClient(provider, names)
        self._provider = provider

    async def read(self) -> Energies:
        """The temperature and power of every node that Prometheus knows."""
        provider = self._provider
        heat, power = await self._client.ask([provider.temperature_query, provider.power_query])
        return Energies(
            {
                node: Energy(_value(heat, node), _value(power, node), at)
                for node, at in _measured_at(provider, heat, power).items()
            }
        )

    async def close(self) -> None:
        await self._client.close()


def _measured_at(provider: Prometheus, *answers: Samples) -> dict[str, float]:
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
