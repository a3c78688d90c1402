"""One replica's view of the API server, through a network and a server that fail."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.kube.binding_request import bind_exactly_once
from moorage.kube.fence import LeaseFence, is_fenced
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import (
    ApiError,
    Forbidden,
    Gone,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Page, Raw, WatchEvent
from tests.twin.weather import Weather

T = TypeVar("T")
Work = Callable[[], Awaitable[T]]
OPTIONAL = ("podgroups", "elasticquotas")
ANYBODYS = ("leases", "events")
"""What a replica that does not lead may write: said here again, so as not to believe the fence."""
REFUSALS = (
    Unauthorized("the token has expired"),
    TooManyRequests("too many requests", retry_after=1.0),
    ServerError("etcdserver: request timed out", status=503),
)


class FaultyServer:
    """An `ApiServer` for one replica."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: Clock,
        weather: Weather,
        fence: LeaseFence,
        failures: list[str],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._weather = weather
        self._fence = fence
        self._failures = failures
        self._in_transit: set[asyncio.Future[Any]] = set()

    async def _ask(self, resource: Resource, method: str, work: Work[T]) -> T:
        weather = self._weather
        await weather.pass_by("freeze")
        await self._clock.sleep(0.001 + 0.004 * weather.dice.throw("way"))
        if weather.strikes("slow", 0.7):
            await self._clock.sleep(weather.dice.choice("slow", (0.2, 1.0, 3.0)))
        if weather.strikes("refuse", 0.5):
            raise weather.dice.choice("refuse", REFUSALS)
        if weather.strikes("cut", 1.0) or weather.strikes("lossy", 0.15):
            raise Unreachable("the connection was reset")
        await weather.pass_by("freeze")
        if method == "GET":
            return await work()
        if is_fenced(resource, method):
            self._fence.check()
        if resource.plural not in ANYBODYS and self._fence.seconds_left <= 0:
            self._failures.append(f"{method} {resource.plural} by a replica that does not lead")
        return await self._carry(work)

    async def _carry(self, work: Work[T]) -> T:
        """What has left the replica arrives, whatever becomes of the replica; answers may not."""
        arriving = asyncio.ensure_future(self._arrive(work))
        self._in_transit.add(arriving)
        arriving.add_done_callback(self._arrived)
        answer = await asyncio.shield(arriving)
        if self._weather.strikes("lossy", 0.25):
            raise Unreachable("the answer was lost")
        return answer

    async def _arrive(self, work: Work[T]) -> T:
        """A write is stored when the disk gets to it; now and then it was sent twice."""
        await self._weather.disk.store()
        answer = await work()
        if self._weather.strikes("lossy", 0.1):
            self._weather.struck["duplicate"] += 1
            with contextlib.suppress(ApiError):
                await work()
        return answer

    def _arrived(self, ended: "asyncio.Future[Any]") -> None:
        self._in_transit.discard(ended)
        if not ended.cancelled():
            ended.exception()

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        weather = self._weather
        if resource.plural in OPTIONAL and weather.strikes("partial", 1.0):
            raise Forbidden("roles are not loaded yet")
        if resource is PODS and weather.strikes("deaf", 1.0):
            raise ServerError("the server is currently unable to handle the request", status=503)
        page = await self._ask(
            resource, "GET", lambda: self._cluster.list_page(resource, **options)
        )
        if resource is not PODS:
            return page
        unfinished = tuple(pod for pod in page.items if not _is_finished(pod))
        return Page(unfinished, page.resource_version, page.continue_token)

    async def watch(self, resource: Resource, **options: Any) -> AsyncGenerator[WatchEvent, None]:
        weather = self._weather
        tears, expirations = weather.tears, weather.expirations
        await self._clock.sleep(0.001)
        if weather.strikes("cut", 1.0):
            raise Unreachable("the connection was reset")
        async for event in self._cluster.watch(resource, **options):
            await weather.pass_by("freeze")
            await weather.pass_by(f"lag/{resource.plural}")
            if weather.strikes("stale", 0.6):
                await self._clock.sleep(weather.dice.choice("stale", (0.05, 0.5, 2.0)))
            if weather.expirations != expirations:
                weather.struck["expire"] += 1
                raise Gone("too old resource version")
            if resource is PODS and weather.strikes("deaf", 1.0):
                raise Gone("too old resource version")
            if weather.tears != tears or weather.strikes("cut", 1.0):
                weather.struck["tear"] += 1
                return
            yield event if event.object is None or not _is_finished(event.object) else _gone(event)

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

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        def work() -> Awaitable[None]:
            return self._cluster.bind(namespace, name, uid, node, annotations)

        async def ask() -> None:
            await self._ask(PODS, "POST", work)

        async def look() -> Raw:
            return await self.get(PODS, namespace, name)

        await bind_exactly_once(ask, look, uid, node, self._clock.sleep)

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        def work() -> Awaitable[None]:
            return self._cluster.patch_pod_status(namespace, name, patch, uid)

        await self._ask(PODS, "PATCH", work)

    async def evict(self, namespace: str, name: str, **options: Any) -> None:
        await self._ask(PODS, "POST", lambda: self._cluster.evict(namespace, name, **options))


def _is_finished(obj: KubeObject) -> bool:
    """Unfinished pods are asked for: a server leaves out the others."""
    return isinstance(obj, Pod) and obj.is_terminal


def _gone(event: WatchEvent) -> WatchEvent:
    """To who asks for unfinished pods, one that finishes is deleted."""
    return WatchEvent("DELETED", event.object, event.resource_version)
