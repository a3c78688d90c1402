"""Measurements from a Prometheus server, by its HTTP API: one instant query for each quantity."""

import asyncio
import math
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from moorage import __version__
from moorage.feeds import node_names
from moorage.feeds.readings import FeedError
from moorage.policies.providers import Prometheus

QUERY: Final = "/api/v1/query"
_EXCERPT: Final = 200

Names = Callable[[], dict[str, str]]
"""The names of nodes by everything they go by."""


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
    """Asks one Prometheus server; token and certificates are read anew each time."""

    def __init__(self, provider: Prometheus, names: Names) -> None:
        self._provider = provider
        self._names = names
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, queries: Sequence[str]) -> list[Samples]:
        """The answers to some queries, all asked at once; an empty query has no answer."""
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
        address = self._provider.address.rstrip("/") + QUERY
        try:
            async with self._open().post(
                address, data={"query": query}, headers=self._headers(), ssl=self._tls()
            ) as response:
                body = await response.read()
        except TimeoutError:
            raise FeedError(f"{address}: no answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise FeedError(f"{address}: {error}") from None
        return _samples(address, query, response.status, body)

    def _by_node(self, samples: list[_Sample], names: dict[str, str]) -> Samples:
        found: Samples = {}
        for sample in samples:
            said = sample.metric.get(self._provider.node_label, "")
            node, value = node_names.find(names, said), float(sample.value[1])
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
        """The token, read each time: it may have been renewed."""
        file = self._provider.bearer_token_file
        return {"Authorization": f"Bearer {Path(file).read_text().strip()}"} if file else {}

    def _tls(self) -> ssl.SSLContext | bool:
        provider = self._provider
        if provider.insecure_skip_verify:
            return False
        return ssl.create_default_context(cafile=provider.ca_file) if provider.ca_file else True


def _samples(address: str, query: str, status: int, body: bytes) -> list[_Sample]:
    """The vector of an answer, or what was wrong with the question."""
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
