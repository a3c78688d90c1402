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

    async def bind(self, namespace: str, name: str, uid: str, to: str) -> None:
        assert name not in self.bound
        self.bound[name] = to

    async def post(self, resource: Resource, body: dict[str, Any]) -> None:
        self.told.append(body["note"])
        if len(self.told) == 3:
            self.done.set()


def test_pods_go_to_the_nodes_in_turn_once_each_but_for_those_that_may_not() -> None:
    gated = pod("gated").with_spec(schedulingGates=[{"name": "wait"}])
    there = (pod("one"), pod("two"), gated, pod("bound").on("b"))
    server = Server(*(each.build() for each in there), later=pod("three").build())
    binder: Any = Binder(server)  # type: ignore[arg-type]  # it asks no more of it than this

    async def story() -> None:
        tasks = [asyncio.ensure_future(binder.follow_nodes())]
        await asyncio.sleep(0.01)
        tasks.append(asyncio.ensure_future(binder.follow_pods()))
        await asyncio.wait_for(server.done.wait(), 10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())

    assert server.bound == {"one": "a", "two": "b", "three": "a"}
    assert "Successfully assigned default/one to a" in server.told
