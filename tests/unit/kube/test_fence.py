"""Nothing is sent with a lease that has run out, whatever the request waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from moorage.kube.fence import UNFENCED, LeaseFence, LeaseLost, steady_time
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import Cluster, SelectedContext, User
from moorage.kube.sockets import Sockets
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import RESOURCES, Resource

ROOT = Path(__file__).resolve().parents[3]
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


ONLY_A_LEADER = {
    ("", "pods"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    ("", "persistentvolumeclaims"),
    ("", "configmaps"),
    ("resource.k8s.io", "resourceclaims"),
    ("scheduling.k8s.io", "podgroups"),
    ("scheduling.x-k8s.io", "podgroups"),
    ("scheduling.x-k8s.io", "elasticquotas"),
}
ANYBODY = {
    ("", "namespaces"),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
}
READS = {"get", "list", "watch"}


def written() -> set[tuple[str, str]]:
    """What the roles of all manifests let a scheduler write."""
    files = sorted((ROOT / "deploy").rglob("*.yaml"))
    found = [obj for file in files for obj in yaml.safe_load_all(file.read_text())]
    return {
        (group, resource.partition("/")[0])
        for role in found
        if isinstance(role, dict) and role.get("kind") in ("Role", "ClusterRole")
        for rule in role["rules"]
        if set(rule["verbs"]) - READS and "resources" in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_whatever_a_scheduler_may_write_is_on_one_list() -> None:
    """A new kind of write needs a right; whoever grants it says here who may write it."""
    assert written() >= {("", "pods"), ("resource.k8s.io", "resourceclaims")}
    assert written() - ONLY_A_LEADER - ANYBODY == set()
    assert set() == ONLY_A_LEADER & ANYBODY
    assert ANYBODY == UNFENCED


def kind_of(group: str, plural: str) -> Resource:
    return Resource(group, "v1", plural, plural, namespaced=True)


@pytest.mark.parametrize("kind", sorted(ONLY_A_LEADER), ids=".".join)
@pytest.mark.parametrize("through_proxy", [False, True])
def test_a_closed_fence_keeps_back_every_write_of_a_leader(
    kind: tuple[str, str], through_proxy: bool
) -> None:
    world, resource = World(), kind_of(*kind)
    obj = {"metadata": {"namespace": "d", "name": "web"}}

    async def scenario(server: KubeApiServer) -> None:
        await server.create(resource, obj)
        world.fence.close()
        for write in (
            server.create(resource, obj),
            server.update(resource, obj),
            server.patch(resource, "d", "web", {"spec": {}}),
            server.patch(resource, "d", "web", {"status": {}}, subresource="status"),
            server.delete(resource, "d", "web"),
        ):
            with pytest.raises(LeaseLost):
                await write

    world.play(scenario, through_proxy)
    assert len(world.came) == 1


@pytest.mark.parametrize("kind", sorted(ANYBODY), ids=".".join)
def test_a_closed_fence_keeps_back_nothing_else(kind: tuple[str, str]) -> None:
    world, resource = World(), kind_of(*kind)

    async def scenario(server: KubeApiServer) -> None:
        world.fence.close()
        await server.create(resource, {"metadata": {"namespace": "d", "name": "web"}})

    world.play(scenario)
    assert len(world.came) == 1
