"""The routes, as kube-scheduler and a curious curl find them."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from moorage import Cycle, Filter, Node, Pod, Rejection, Reserve
from moorage.api.decode import decode_as
from moorage.bind.plugin_client import PluginClient
from moorage.cache.cache import Cache
from moorage.clock import SystemClock
from moorage.config.resolved_profile import Enabled, ResolvedProfile
from moorage.cycle.profile import Profile
from moorage.extender import extender_server
from moorage.extender.bind_handler import BindHandler
from moorage.extender.extender_server import MOST_BYTES, ExtenderServer
from moorage.extender.verb_handler import VerbHandler
from moorage.framework.plugin import Plugin
from moorage.framework.points import points_of
from moorage.framework.verdicts import unschedulable
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node, pod
from moorage.watch.api_resources import PODS

Raw = dict[str, Any]
Client = TestClient[Any, Any]


class NoLoudNodes(Filter, Reserve, frozen=True):
    """Raises where it is told to, and reserves nothing on some nodes."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.labels.get("raise"):
            raise RuntimeError("broken")
        return unschedulable("too loud") if node.labels.get("loud") else None

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable("nothing to reserve") if node.labels.get("loud") else None


class Held(Reserve, frozen=True):
    """Holds something from Reserve to Unreserve."""

    held: list[str]

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        self.held.append(pod.name)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        self.held.remove(pod.name)


class HeldForEver(Reserve, frozen=True):
    """Cannot give back."""

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        raise RuntimeError("stuck")


def answering(cache: Cache, *plugins: Plugin, **more: Any) -> VerbHandler:
    named = {type(plugin).plugin_name(): plugin for plugin in plugins}
    points: dict[str, tuple[Enabled, ...]] = {}
    for name, plugin in named.items():
        for point in points_of(type(plugin)):
            points[point] = (*points.get(point, ()), Enabled(name, 1))
    profile = Profile(ResolvedProfile("x", None, points, {}), named)
    return VerbHandler(profile, cache, follows=True, now=time.time, **more)


def ask(story: Callable[[Client], Awaitable[None]], **more: Any) -> None:
    cache = Cache()
    cache.put_node(node("a").build())
    cache.put_node(node("b").labelled(loud="true").build())
    server = ExtenderServer(answering(cache, NoLoudNodes()), **more)

    async def main() -> None:
        async with TestClient(TestServer(server.application())) as client:
            await story(client)

    asyncio.run(main())


def test_a_request_that_is_too_large_is_refused_before_it_is_read() -> None:
    async def story(client: Client) -> None:
        head = f"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: {MOST_BYTES + 1}\r\n\r\n"
        reader, writer = await asyncio.open_connection(client.host, client.port)
        writer.write(head.encode())

        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()

    ask(story)


def test_so_is_one_whose_size_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extender_server, "MOST_BYTES", 1 << 16)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * (1 << 14)

    async def story(client: Client) -> None:
        assert (await client.post("/filter", data=pieces())).status == 413

    ask(story)


def test_a_request_that_does_not_arrive_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extender_server, "READ_SECONDS", 0.01)

    async def story(client: Client) -> None:
        reader, writer = await asyncio.open_connection(client.host, client.port)
        writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")

        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()

    ask(story)


def test_large_requests_are_read_one_at_a_time_and_small_ones_beside_them() -> None:
    """Who sends slowly holds up neither small requests nor more than one large body in memory."""
    begun = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        begun.set()
        await asyncio.Event().wait()

    async def story(client: Client) -> None:
        first = asyncio.ensure_future(client.post("/filter", data=slowly()))
        await begun.wait()
        second = asyncio.ensure_future(client.post("/filter", data=chunked(b"{}")))
        for _ in range(5):
            small = await client.post("/filter", json={"Pod": web(), "NodeNames": ["a"]})
            assert small.status == 200
        assert not second.done()

        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

        assert (await second).status == 400

    ask(story)


async def chunked(body: bytes) -> AsyncIterator[bytes]:
    yield body


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"Pod":' * 50_000 + b"1" + b"}" * 50_000, id="an argument"),
        pytest.param(b'{"Pod":%s}' % (b'{"spec":' * 50_000 + b"1" + b"}" * 50_000), id="a pod"),
        pytest.param(b"\xff", id="no text"),
    ],
)
def test_what_is_nested_without_end_is_a_bad_request(verb: str, body: bytes) -> None:
    async def story(client: Client) -> None:
        assert (await client.post(f"/{verb}", data=body)).status == 400
        assert (await client.get("/livez")).status == 200

    ask(story)


def web(**labels: str) -> Raw:
    return {"metadata": {"name": "web", "labels": labels}, "spec": {"containers": []}}


def test_names_are_written_as_go_reads_them() -> None:
    async def story(client: Client) -> None:
        response = await client.post("/filter", json={"Pod": web(), "NodeNames": ["a", "b"]})

        assert response.status == 200
        assert await response.json() == {
            "Nodes": None,
            "NodeNames": ["a"],
            "FailedNodes": {"b": "too loud"},
            "FailedAndUnresolvableNodes": {},
            "Error": "",
        }

    ask(story)


def test_scores_are_a_list() -> None:
    async def story(client: Client) -> None:
        response = await client.post("/prioritize", json={"Pod": web(), "NodeNames": ["a"]})

        assert await response.json() == [{"Host": "a", "Score": 0}]

    ask(story)


def test_what_goes_wrong_with_a_filter_is_said_in_its_answer() -> None:
    async def story(client: Client) -> None:
        asked = {"Pod": web(**{"raise": "yes"}), "NodeNames": ["a"]}
        response = await client.post("/filter", json=asked)

        assert response.status == 200
        said = (await response.json())["Error"]
        assert said == "running Filter plugin 'NoLoudNodes': RuntimeError: broken"

    ask(story)


def test_what_goes_wrong_with_other_verbs_is_a_status() -> None:
    async def story(client: Client) -> None:
        asked = {"Pod": web(**{"raise": "yes"}), "NodeNameToMetaVictims": {"a": {"Pods": []}}}
        response = await client.post("/preempt", json=asked)

        assert response.status == 500
        assert "NoLoudNodes" in await response.text()

    ask(story)


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"NodeNames": ["a"]}'])
def test_a_request_that_cannot_be_read_is_refused(body: str) -> None:
    async def story(client: Client) -> None:
        response = await client.post("/filter", data=body)

        assert response.status == 400
        assert "cannot be read" in await response.text()

    ask(story)


def test_health_is_told() -> None:
    async def story(client: Client) -> None:
        assert (await client.get("/healthz")).status == 200
        ready = await client.get("/readyz")
        assert ready.status == 503
        assert await ready.text() == "not yet"
        answer = await client.post("/filter", json={"Pod": web(), "NodeNames": ["a"]})
        assert (await answer.json())["Error"] == "not yet"

    ask(story, unready=lambda: "not yet")


def test_requests_are_counted_by_verb_and_result() -> None:
    async def story(client: Client) -> None:
        await client.post("/filter", json={"Pod": web(), "NodeNames": ["a"]})
        await client.post("/filter", data="{")
        text = await (await client.get("/metrics")).text()

        assert 'moorage_extender_requests_total{result="success",verb="filter"} 1.0' in text
        assert 'moorage_extender_requests_total{result="error",verb="filter"} 1.0' in text
        assert 'moorage_extender_request_duration_seconds_count{verb="filter"} 2.0' in text

    ask(story)


def test_binding_is_not_served_unless_asked_for() -> None:
    async def story(client: Client) -> None:
        assert (await client.post("/bind", json={})).status == 404

    ask(story)


class Bound:
    """An extender that binds, on the embedded cluster."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster(clock=SystemClock(), rng=random.Random(1))
        self.cache = Cache()
        for each in (node("a"), node("b").labelled(loud="true")):
            self.cluster.apply({"apiVersion": "v1", "kind": "Node", **each.raw})
            self.cache.put_node(each.build())
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod", **pod("web").raw})
        client = PluginClient(self.cluster, SystemClock())
        self.answering = answering(self.cache, NoLoudNodes(), client=client)

    def with_plugins(self, *plugins: Plugin) -> "Bound":
        client = PluginClient(self.cluster, SystemClock())
        self.answering = answering(self.cache, *plugins, client=client)
        return self

    async def ask(self, node: str, uid: str = "", name: str = "web") -> Raw:
        binding = BindHandler(self.answering, self.cluster)
        server = ExtenderServer(self.answering, binding=binding)
        args = {"PodName": name, "PodNamespace": "default", "PodUID": uid, "Node": node}
        async with TestClient(TestServer(server.application())) as client:
            found: Raw = await (await client.post("/bind", json=args)).json()
        return found

    async def pod(self) -> Pod:
        return decode_as(await self.cluster.get(PODS, "default", "web"), Pod)


def test_a_pod_is_bound_and_counted_at_once() -> None:
    async def main() -> None:
        bound = Bound()

        assert await bound.ask("a") == {"Error": ""}

        found = await bound.pod()
        assert found.spec.node_name == "a"
        assert bound.cache.node_of(found.uid) == "a"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        pytest.param({"node": "b"}, "NoLoudNodes: nothing to reserve", id="a plugin refuses"),
        pytest.param({"node": "z"}, "node z is not known", id="nobody knows the node"),
        pytest.param({"node": "a", "uid": "other"}, "another one by now", id="another pod"),
        pytest.param({"node": "a", "name": "gone"}, "gone", id="no such pod"),
        pytest.param({"node": "a", "name": "web/log?x"}, "not the name of a pod", id="no name"),
    ],
)
def test_a_pod_that_cannot_be_bound_is_not_counted(asked: dict[str, str], why: str) -> None:
    async def main() -> None:
        bound = Bound()

        answer = await bound.ask(**asked)

        assert why in answer["Error"]
        assert (await bound.pod()).spec.node_name == ""
        assert not bound.cache.assumed

    asyncio.run(main())


def test_a_plugin_that_cannot_unreserve_keeps_no_other_from_it() -> None:
    """Unreserve goes in the order opposite to Reserve: the broken plugin comes first."""
    held: list[str] = []

    async def main() -> None:
        bound = Bound().with_plugins(Held(held), HeldForEver(), NoLoudNodes())

        assert await bound.ask("a") == {"Error": ""}
        assert held == ["web"]

        bound = Bound().with_plugins(Held(held), HeldForEver(), NoLoudNodes())
        held.clear()
        assert "nothing to reserve" in (await bound.ask("b"))["Error"]
        assert held == []
        assert not bound.cache.assumed

    asyncio.run(main())
