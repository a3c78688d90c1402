"""Nothing is sent with a lease that has run out, whatever the request waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from moorage.kube.fence import LeaseFence, LeaseLost, steady_time
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import Cluster, SelectedContext, User
from moorage.kube.sockets import Sockets
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import RESOURCES

Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


class World:
    """A server that notes when requests with a whole body came, and a fence that is open."""

    def __init__(self, handle: Handle | None = None, lease: float = 15.0) -> None:
        self.came: list[tuple[str, float]] = []
        self.cut_at: list[float] = []
        self.fence = LeaseFence(lease)
        self._handle = handle

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self.came.append((request.path.rpartition("/")[2], steady_time()))
        if self._handle is None:
            return web.json_response({"metadata": {}})
        try:
            return await self._handle(request)
        except asyncio.CancelledError:
            self.cut_at.append(steady_time())
            raise

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.came]

    def play(
        self,
        scenario: Callable[[KubeApiServer], Awaitable[None]],
        through_proxy: bool = False,
        **options: Any,
    ) -> None:
        async def main() -> None:
            app = web.Application()
            app.router.add_route("*", "/{tail:.*}", self.answer)
            async with TestServer(app, handler_cancellation=True) as http:
                url = str(http.make_url("")).rstrip("/")
                cluster = Cluster(server=url)
                if through_proxy:
                    cluster = Cluster(server="http://api.invalid", proxy_url=url)
                selected = SelectedContext("here", "one", "a", cluster, User(token="t"), "")
                server = KubeApiServer(selected, fence=self.fence, **{"qps": 0, **options})
                self.renewed_at = steady_time()
                self.fence.renewed(self.renewed_at)
                try:
                    await scenario(server)
                    await asyncio.sleep(0.05)
                finally:
                    await server.close()

        asyncio.run(main())


async def hangs(request: web.Request) -> web.StreamResponse:
    if request.method == "GET":
        return web.json_response({"metadata": {"uid": "u"}, "spec": {}})
    await asyncio.sleep(3600)
    return web.Response()


async def says_later(request: web.Request) -> web.StreamResponse:
    return web.json_response({"code": 429}, status=429, headers={"Retry-After": "0.2"})


def bind(server: KubeApiServer, name: str = "web") -> "asyncio.Future[None]":
    return asyncio.ensure_future(server.bind("d", name, "u", "n1"))


def test_the_lease_is_looked_at_after_the_rate_limit() -> None:
    world = World()

    async def scenario(server: KubeApiServer) -> None:
        await bind(server)
        second = bind(server)
        await asyncio.sleep(0.05)
        world.fence.close()
        with pytest.raises(LeaseLost):
            await second

    world.play(scenario, qps=1, burst=1)
    assert world.paths == ["binding"]


def test_the_lease_is_looked_at_after_the_wait_for_a_server_that_is_busy() -> None:
    world = World(says_later)

    async def scenario(server: KubeApiServer) -> None:
        asked = bind(server)
        await asyncio.sleep(0.1)
        world.fence.close()
        with pytest.raises(LeaseLost):
            await asked

    world.play(scenario)
    assert world.paths == ["binding"]


def test_the_lease_is_looked_at_after_the_wait_for_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("moorage.kube.connection.POOL", 1)
    world = World(hangs)

    async def scenario(server: KubeApiServer) -> None:
        first, second = bind(server, "one"), bind(server, "two")
        await asyncio.sleep(0.1)
        world.fence.close()
        for each in (first, second):
            with pytest.raises(ApiError):
                await each

    world.play(scenario)
    assert world.paths.count("binding") == 1


def test_the_lease_is_looked_at_after_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = Sockets.connect

    async def slow(self: Sockets, host: str, port: int) -> Any:
        await asyncio.sleep(0.2)
        return await connect(self, host, port)

    monkeypatch.setattr(Sockets, "connect", slow)
    world = World()

    async def scenario(server: KubeApiServer) -> None:
        asked = bind(server)
        await asyncio.sleep(0.05)
        world.fence.close()
        with pytest.raises(LeaseLost):
            await asked

    world.play(scenario)
    assert world.came == []


@pytest.mark.parametrize("through_proxy", [False, True])
def test_a_request_that_outlives_the_lease_is_torn(through_proxy: bool) -> None:
    """Its connection ends before the lease does, and nothing is sent after it."""
    world = World(hangs, lease=1.0)

    async def scenario(server: KubeApiServer) -> None:
        began = steady_time()
        with pytest.raises(LeaseLost):
            await bind(server)
        assert steady_time() - began < 1.6

    world.play(scenario, through_proxy)
    assert len(world.cut_at) == world.paths.count("binding")
    assert max(world.cut_at) < world.renewed_at + 1.0 + 0.1


def test_a_fence_that_closes_tears_what_is_under_way() -> None:
    world = World(hangs)

    async def scenario(server: KubeApiServer) -> None:
        asked = bind(server)
        await asyncio.sleep(0.1)
        world.fence.close()
        with pytest.raises(LeaseLost):
            await asked

    world.play(scenario)
    assert len(world.cut_at) == 1


def test_reads_are_not_fenced() -> None:
    world = World()

    async def scenario(server: KubeApiServer) -> None:
        world.fence.close()
        await server.get(RESOURCES["pods"], "d", "web")

    world.play(scenario)
    assert world.paths == ["web"]


@pytest.mark.parametrize("plural", ["pods", "persistentvolumes", "persistentvolumeclaims"])
@pytest.mark.parametrize("through_proxy", [False, True])
def test_a_closed_fence_keeps_every_write_of_a_decision_back(
    plural: str, through_proxy: bool
) -> None:
    world = World()
    claim = {"metadata": {"namespace": "d", "name": "web"}}

    async def scenario(server: KubeApiServer) -> None:
        world.fence.close()
        with pytest.raises(LeaseLost):
            await server.update(RESOURCES[plural], claim)
        with pytest.raises(LeaseLost):
            await server.patch(RESOURCES[plural], "d", "web", {"spec": {}})

    world.play(scenario, through_proxy)
    assert world.came == []
