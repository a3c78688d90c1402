"""The scheduler that decides nothing binds every pod that may be bound, and tells of it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from bench.perf.bind_only import Binder
from moorage.api.meta import KubeObject
from moorage.testing import node, pod
from moorage.watch.api_resources import NODES, Resource
from moorage.watch.api_server import Page, WatchEvent


class Server:
    """Two nodes and some pods, one of which comes later, and what was asked of it."""

    def __init__(self, *pods: KubeObject, later: KubeObject) -> None:
        self._pods = pods
        self._later = later
        self.bound: dict[str, str] = {}
        self.told: list[str] = []
        self.done = asyncio.Event()

    async def list_page(self, resource: Resource) -> Page:
        nodes = (node("a").build(), node("b").build())
        return Page(nodes if resource is NODES else self._pods, "1", "")

    async def watch(self, resource: Resource, **_: Any) -> AsyncGenerator[WatchEvent, None]:
        if resource is not NODES:
            for _again in range(2):
                yield WatchEvent("MODIFIED", self._later, "2")
        await asyncio.Event().wait()

    async def bind(self, namespace: str, name: str, uid: str, to: str, *_: Any) -> None:
        assert name not in self.bound
        self.bound[name] = to

    async def post(self, resource: Resource, body: dict[str, Any]) -> None:
        self.told.append(body["note"])
        if len(self.told) == 3:
            self.done.set()


async def until_done(binder: Any, server: Server) -> None:
    tasks = [asyncio.ensure_future(binder.follow_nodes())]
    await asyncio.sleep(0.01)
    tasks.append(asyncio.ensure_future(binder.follow_pods()))
    await asyncio.wait_for(server.done.wait(), 10)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_pods_go_to_the_nodes_in_turn_once_each_but_for_those_that_may_not() -> None:
    gated = pod("gated").with_spec(schedulingGates=[{"name": "wait"}])
    there = (pod("one"), pod("two"), gated, pod("bound").on("b"))
    server = Server(*(each.build() for each in there), later=pod("three").build())
    binder: Any = Binder(server)  # type: ignore[arg-type]  # it asks no more of it than this

    asyncio.run(until_done(binder, server))

    assert server.bound == {"one": "a", "two": "b", "three": "a"}
    assert "Successfully assigned default/one to a" in server.told


class FullServer(Server):
    """A node that four pods fill, and one of more priority that comes later."""

    def __init__(self) -> None:
        low = [pod(f"low-{n}").requesting(cpu="900m").on("a").build() for n in range(4)]
        high = pod("high").requesting(cpu="3").prioritised(10).build()
        super().__init__(*low, later=high)
        self._gone: asyncio.Queue[KubeObject] = asyncio.Queue()
        self.patched: list[str] = []

    async def list_page(self, resource: Resource) -> Page:
        page = await super().list_page(resource)
        nodes = (node("a").offering(cpu="4").build(),)
        return Page(nodes, "1", "") if resource is NODES else page

    async def watch(self, resource: Resource, **_: Any) -> AsyncGenerator[WatchEvent, None]:
        if resource is not NODES:
            yield WatchEvent("ADDED", self._later, "2")
            while True:
                yield WatchEvent("DELETED", await self._gone.get(), "3")
        await asyncio.Event().wait()

    async def patch_pod_status(self, namespace: str, name: str, patch: Any, uid: str) -> None:
        self.patched.append(name)

    async def delete(self, resource: Resource, namespace: str, name: str, *, uid: str) -> None:
        assert name in self.patched
        assert not self.bound
        self._gone.put_nowait(next(each for each in self._pods if each.name == name))

    async def post(self, resource: Resource, body: dict[str, Any]) -> None:
        self.told.append(f"{body['reason']} {body['regarding']['name']}")
        if body["reason"] == "Scheduled":
            self.done.set()


def test_as_many_pods_of_less_priority_leave_as_are_enough_and_then_the_pod_is_bound() -> None:
    server = FullServer()
    binder: Any = Binder(server)  # type: ignore[arg-type]  # it asks no more of it than this

    asyncio.run(until_done(binder, server))

    left = {"low-0", "low-1", "low-2"}
    assert set(server.patched) == {*left, "high"}
    assert server.bound == {"high": "a"}
    assert {f"Preempted {name}" for name in left} | {"FailedScheduling high"} <= {*server.told}
    assert server.told[-1] == "Scheduled high"
