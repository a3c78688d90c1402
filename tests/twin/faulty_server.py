"""One replica's view of the API server, through a network and a server that fail."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

from moorage.clock import Clock
from moorage.kube.binding_request import bind_exactly_once
from moorage.kube.fence import LeaseFence, is_fenced
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import (
    Conflict,
    Forbidden,
    Gone,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Page, Raw, WatchEvent

T = TypeVar("T")


class Weather:
    """What is wrong between one replica and the server, and until when.

    `struck` counts the faults that had an effect, by kind.
    """

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self.rng = rng
        self._until: dict[str, float] = {}
        self.struck: Counter[str] = Counter()
        self.tears = 0
        self.expirations = 0
        self.partial = 0.0
        """Until when optional resources are refused, as by a server that starts."""

    def begin(self, kind: str, seconds: float) -> None:
        self._until[kind] = max(self._until.get(kind, 0.0), self._clock.now() + seconds)

    def clear(self) -> None:
        self._until.clear()
        self.partial = 0.0

    def is_on(self, kind: str) -> bool:
        return self._until.get(kind, 0.0) > self._clock.now()

    def strikes(self, kind: str, odds: float) -> bool:
        """Whether a fault of a kind that is on has an effect now."""
        hit = self.is_on(kind) and self.rng.random() < odds
        self.struck[kind] += hit
        return hit

    async def thaw(self) -> None:
        """Return when the replica does not stand still."""
        while self.is_on("freeze"):
            self.struck["freeze"] += 1
            await self._clock.sleep(self._until["freeze"] - self._clock.now())


class FaultyServer:
    """An `ApiServer` for one replica."""

    def __init__(
        self, cluster: MemoryCluster, clock: Clock, weather: Weather, fence: LeaseFence
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._weather = weather
        self._fence = fence
        self._in_transit: set[asyncio.Future[Any]] = set()

    async def _ask(self, resource: Resource, method: str, work: Callable[[], Awaitable[T]]) -> T:
        weather = self._weather
        await weather.thaw()
        await self._clock.sleep(0.001 + 0.004 * weather.rng.random())
        if weather.strikes("slow", 0.7):
            await self._clock.sleep(weather.rng.choice((0.2, 1.0, 3.0)))
        if weather.strikes("refuse", 0.5):
            raise weather.rng.choice(REFUSALS)
        if weather.strikes("cut", 1.0) or weather.strikes("lossy", 0.15):
            raise Unreachable("the connection was reset")
        await weather.thaw()
        if is_fenced(resource, method):
            self._fence.check()
        return await self._carry(method, work)

    async def _carry(self, method: str, work: Callable[[], Awaitable[T]]) -> T:
        """What has left the replica arrives, whatever becomes of the replica; answers may not."""
        weather = self._weather
        arriving = asyncio.ensure_future(work())
        self._in_transit.add(arriving)
        arriving.add_done_callback(self._arrived)
        answer = await asyncio.shield(arriving)
        if method != "GET" and weather.strikes("lossy", 0.25):
            raise Unreachable("the answer was lost")
        return answer

    def _arrived(self, ended: "asyncio.Future[Any]") -> None:
        self._in_transit.discard(ended)
        if not ended.cancelled():
            ended.exception()

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        if self._weather.partial > self._clock.now() and resource.plural == "podgroups":
            self._weather.struck["partial"] += 1
            raise Forbidden("roles are not loaded yet")
        return await self._ask(
            resource, "GET", lambda: self._cluster.list_page(resource, **options)
        )

    async def watch(self, resource: Resource, **options: Any) -> AsyncGenerator[WatchEvent, None]:
        weather = self._weather
        tears, expirations = weather.tears, weather.expirations
        await self._clock.sleep(0.001)
        if weather.strikes("cut", 1.0):
            raise Unreachable("the connection was reset")
        async for event in self._cluster.watch(resource, **options):
            await weather.thaw()
            if weather.strikes("stale", 0.6):
                await self._clock.sleep(weather.rng.choice((0.05, 0.5, 2.0)))
            if weather.expirations != expirations:
                weather.struck["expire"] += 1
                raise Gone("too old resource version")
            if weather.tears != tears or weather.strikes("cut", 1.0):
                weather.struck["tear"] += 1
                return
            yield event

    async def get(self, resource: Resource, namespace: str, name: str) -> Raw:
        return await self._ask(
            resource, "GET", lambda: self._cluster.get(resource, namespace, name)
        )

    async def post(self, resource: Resource, object: Raw) -> None:
        await self._ask(resource, "POST", lambda: self._cluster.post(resource, object))

    async def create(self, resource: Resource, object: Raw) -> Raw:
        return await self._ask(resource, "POST", lambda: self._cluster.create(resource, object))

    async def update(self, resource: Resource, object: Raw, *, subresource: str = "") -> Raw:
        def work() -> Awaitable[Raw]:
            return self._cluster.update(resource, object, subresource=subresource)

        return await self._ask(resource, "PUT", work)

    async def patch(self, resource: Resource, *args: Any, **options: Any) -> Raw:
        def work() -> Awaitable[Raw]:
            return self._cluster.patch(resource, *args, **options)

        return await self._ask(resource, "PATCH", work)

    async def delete(self, resource: Resource, *args: Any, **options: Any) -> None:
        def work() -> Awaitable[None]:
            return self._cluster.delete(resource, *args, **options)

        await self._ask(resource, "DELETE", work)

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        async def ask() -> None:
            await self._ask(PODS, "POST", lambda: self._bind(namespace, name, uid, node))

        async def look() -> Raw:
            return await self.get(PODS, namespace, name)

        await bind_exactly_once(ask, look, uid, node, self._clock.sleep)

    async def _bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        await self._cluster.bind(namespace, name, uid, node)
        if self._weather.strikes("lossy", 0.1):  # the same request once more: it finds it bound
            try:
                await self._cluster.bind(namespace, name, uid, node)
            except Conflict:
                self._weather.struck["duplicate"] += 1

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        def work() -> Awaitable[None]:
            return self._cluster.patch_pod_status(namespace, name, patch, uid)

        await self._ask(PODS, "PATCH", work)

    async def evict(self, namespace: str, name: str, **options: Any) -> None:
        await self._ask(PODS, "POST", lambda: self._cluster.evict(namespace, name, **options))


REFUSALS = (
    Unauthorized("the token has expired"),
    TooManyRequests("too many requests", retry_after=1.0),
    ServerError("etcdserver: request timed out", status=503),
)
