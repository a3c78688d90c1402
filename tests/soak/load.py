"""Pods and nodes created, changed and deleted on an API server, at a rate."""

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import NODES, PODS
from tests.integration.making import Raw, node, pod

AT_ONCE: Final = 48
ZONES: Final = 10


def nodes(count: int, cpu: str = "64") -> Iterator[Raw]:
    zone = "topology.kubernetes.io/zone"
    for i in range(count):
        yield node(f"n{i:05}", cpu=cpu, memory="256Gi", pods=250, labels={zone: f"z{i % ZONES}"})


async def create_all(server: KubeApiServer, resource: Any, objects: Iterable[Raw]) -> None:
    """Create all of them, many at once."""
    line = iter(objects)

    async def worker() -> None:
        for obj in line:
            await server.post(resource, obj)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


class Pace:
    """Does something so many times a second, for so long; `done` counts, `failed` too."""

    def __init__(self, rate: float, seconds: float) -> None:
        self._rate, self._seconds = rate, seconds
        self.done = self.failed = 0

    async def keep(self, do: Callable[[int], Awaitable[None]]) -> None:
        began, numbers = time.monotonic(), itertools.count()

        async def worker() -> None:
            for number in numbers:
                due = began + number / self._rate
                if due > began + self._seconds or time.monotonic() > began + self._seconds:
                    return
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                try:
                    await do(number)
                    self.done += 1
                except ApiError:
                    self.failed += 1

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


class Churn:
    """Creates a pod and deletes the oldest that is bound, so that about as many stay."""

    def __init__(self, server: KubeApiServer, kept: int) -> None:
        self._server, self._kept = server, kept
        self._bound: deque[str] = deque()
        self._seen: set[str] = set()
        self.bound = self.deleted = 0

    async def step(self, number: int) -> None:
        labels = {"app": f"a{number % 50}"}
        await self._server.post(PODS, pod(f"churn-{number}", cpu="100m", labels=labels))
        if len(self._bound) > self._kept:
            with contextlib.suppress(NotFound):
                oldest = self._bound.popleft()
                await self._server.delete(PODS, "default", oldest, grace_period_seconds=0)
                self.deleted += 1

    async def watch(self) -> None:
        """Note which pods are bound; what a watch that ended early has missed is listed."""
        while True:
            page = await self._server.list_page(PODS)
            for found in page.items:
                self._note(found)
            version = page.resource_version
            with contextlib.suppress(ApiError):
                async for event in self._server.watch(PODS, resource_version=version):
                    if event.object is not None and event.type != "DELETED":
                        self._note(event.object)

    def _note(self, found: KubeObject) -> None:
        if isinstance(found, Pod) and found.spec.node_name and found.name not in self._seen:
            self._seen.add(found.name)
            self._bound.append(found.name)
            self.bound += found.name.startswith("churn-")


async def touch_node(server: KubeApiServer, name: str, number: int) -> None:
    change = {"metadata": {"annotations": {"touched": str(number)}}}
    await server.patch(NODES, "", name, change)
