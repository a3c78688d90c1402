"""What is done to the scheduler, by name; each answers with its own figures."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_resources import NODES, PODS
from tests.integration.control_plane import ControlPlane
from tests.integration.making import pod
from tests.soak import load
from tests.soak.load import Churn, Pace

Figures = dict[str, float]
IN_LINE_SECONDS = 300.0
"""Pods of one priority are attempted in turn, and a hundred thousand may be before the last."""
SMALL_CACHE = ("--watch-cache=true", "--default-watch-cache-size=10")


class Size(NamedTuple):
    """How large a scenario is."""

    minutes: float
    rate: float
    nodes: int
    pods: int
    updates: int


class Field(NamedTuple):
    """What a scenario plays on."""

    plane: ControlPlane
    server: KubeApiServer
    size: Size
    begin: Callable[[], None]
    """To be called when what stays is there: growth is looked for from then on."""


async def _churn_for(field: Field, seconds: float, patience: float = 60.0) -> Figures:
    churn, pace = Churn(field.server, field.size.pods), Pace(field.size.rate, seconds)
    watching = asyncio.ensure_future(churn.watch())
    await asyncio.sleep(0.5)
    began = time.monotonic()
    try:
        await pace.keep(churn.step)
        created = time.monotonic()
        await _until(lambda: churn.bound >= pace.done, patience)
    finally:
        watching.cancel()
    spent = time.monotonic() - began
    return {
        "last_bound_after_s": round(time.monotonic() - created, 1),
        "created": pace.done,
        "refused": pace.failed,
        "bound": churn.bound,
        "deleted": churn.deleted,
        "pods_per_s": round(churn.bound / spent, 1),
    }


async def churn(field: Field) -> Figures:
    """Pods come and go at a rate."""
    await load.create_all(field.server, NODES, load.nodes(field.size.nodes))
    return await _churn_for(field, field.size.minutes * 60)


async def pending(field: Field) -> Figures:
    """So many pods fit nowhere, while others come and go."""
    await load.create_all(field.server, NODES, load.nodes(field.size.nodes))
    began = time.monotonic()
    huge = (pod(f"huge-{i}", cpu="1000") for i in range(field.size.pods))
    await load.create_all(field.server, PODS, huge)
    created = time.monotonic() - began
    field.begin()
    few = field._replace(size=field.size._replace(pods=200, rate=min(field.size.rate, 20.0)))
    found = await _churn_for(few, field.size.minutes * 60, IN_LINE_SECONDS)
    return {"pending": field.size.pods, "created_in_s": round(created, 1), **found}


async def nodes(field: Field) -> Figures:
    """A list of so many nodes, on which pods come and go."""
    began = time.monotonic()
    await load.create_all(field.server, NODES, load.nodes(field.size.nodes))
    created = time.monotonic() - began
    found = await _churn_for(field, field.size.minutes * 60)
    return {"nodes": field.size.nodes, "created_in_s": round(created, 1), **found}


async def storm(field: Field) -> Figures:
    """So many updates of nodes within a minute, while pods come and go."""
    await load.create_all(field.server, NODES, load.nodes(field.size.nodes))
    names = [raw["metadata"]["name"] for raw in load.nodes(field.size.nodes)]
    pace = Pace(field.size.updates / 60, 60.0)

    async def touch(number: int) -> None:
        await load.touch_node(field.server, names[number % len(names)], number)

    slow = field._replace(size=field.size._replace(rate=min(field.size.rate, 20.0)))
    _, found = await asyncio.gather(pace.keep(touch), _churn_for(slow, 60.0))
    return {"updates": pace.done, "updates_refused": pace.failed, **found}


async def expiring(field: Field) -> Figures:
    """A watch cache that is small, and an etcd that forgets the past every second."""
    await load.create_all(field.server, NODES, load.nodes(field.size.nodes))
    forgetting = asyncio.ensure_future(_forget(field.plane))
    try:
        return await _churn_for(field, field.size.minutes * 60)
    finally:
        forgetting.cancel()


async def _forget(plane: ControlPlane) -> None:
    while True:
        await asyncio.sleep(1.0)
        await asyncio.to_thread(plane.compact)


async def _until(check: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not check() and time.monotonic() < deadline:  # noqa: ASYNC110 a count that others keep
        await asyncio.sleep(0.1)


Scenario = Callable[[Field], Awaitable[Figures]]
SCENARIOS: dict[str, tuple[Scenario, Size, tuple[str, ...]]] = {
    "churn": (churn, Size(20, 200, 100, 4000, 0), ()),
    "pending": (pending, Size(4, 20, 100, 100_000, 0), ()),
    "nodes": (nodes, Size(6, 100, 10_000, 1000, 0), ()),
    "storm": (storm, Size(1, 20, 1000, 1000, 50_000), ()),
    "expiring": (expiring, Size(5, 50, 100, 1000, 0), SMALL_CACHE),
}
"""Each with the size that it has unless told otherwise, and what the API server is told."""
