"""Any interleaving of writers, whatever the watchers: what is watched adds up to what is stored."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.clock import VirtualClock, run_virtual
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import ApiError, Gone, ServerError
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import ApiServer, Page, Raw, WatchEvent
from moorage.watch.reflector import Change, Reflector

NAMES = ("a", "b", "c")
CLIENTS = 2
WINDOW = 4

Contents = dict[str, KubeObject]
Step = tuple[Any, ...]

name = st.sampled_from(NAMES)
client = st.integers(0, CLIENTS - 1)
step = st.one_of(
    st.tuples(st.just("create"), client, name),
    st.tuples(st.just("read"), client, name),
    st.tuples(st.just("update"), client, name, st.integers(0, 2)),
    st.tuples(st.just("patch"), client, name, st.integers(0, 2)),
    st.tuples(st.just("status"), client, name, st.integers(0, 2)),
    st.tuples(st.just("finalizers"), client, name, st.sampled_from([[], ["f"]])),
    st.tuples(st.just("delete"), client, name, st.sampled_from([None, 0, 30]), st.booleans()),
    st.tuples(st.just("bind"), client, name, st.sampled_from(["n1", "n2"]), st.booleans()),
    st.tuples(st.just("evict"), client, name),
    st.tuples(st.just("follow"), st.booleans()),
    st.tuples(st.just("pass"), st.sampled_from([0.0, 0.5, 7.0])),
    st.tuples(st.just("let"), st.integers(0, 4), st.integers(1, 5)),
)


class FlakyServer:
    """The cluster behind a bad line: lists fail, watches break off or end early, by a script."""

    def __init__(self, cluster: MemoryCluster, faults: list[int]) -> None:
        self._cluster = cluster
        self._faults = iter(faults)

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        if next(self._faults, 9) == 0:
            raise ServerError("the line is bad")
        return await self._cluster.list_page(resource, **options)

    async def watch(self, resource: Resource, **options: Any) -> AsyncGenerator[WatchEvent, None]:
        fault = next(self._faults, 9)
        async with aclosing(self._cluster.watch(resource, **options)) as events:
            async for event in events:
                yield event
                fault -= 1
                if fault == 0:
                    raise ServerError("the line is bad")
                if fault == -5:
                    return


class Follower:
    """Believes what a reflector reports, one change at a time, as fast as it is let."""

    def __init__(self, server: ApiServer, clock: VirtualClock, *, slow: bool) -> None:
        rng = random.Random(5)
        self.reflector = Reflector(
            server, PODS, clock=clock, rng=rng, page_size=2, watch_seconds=5.0
        )
        self.believed: Contents = {}
        self.permits = asyncio.Semaphore(0)
        self._slow = slow
        self.task = asyncio.create_task(self._follow())

    def hurry(self) -> None:
        self._slow = False
        self.permits.release()

    async def _follow(self) -> None:
        async with aclosing(self.reflector.changes()) as changes:
            async for change in changes:
                if self._slow:
                    await self.permits.acquire()
                self._believe(change)

    def _believe(self, change: Change) -> None:
        if change.old is not None:
            assert self.believed.pop(change.old.key) is change.old, "old is what was reported"
        if change.new is not None:
            assert change.new.key not in self.believed, "added twice"
            self.believed[change.new.key] = change.new
        if change.type == "updated":
            assert change.old is not None
            assert change.new is not None
            assert change.old.uid == change.new.uid
            assert _version(change.old) < _version(change.new), "updates go forward"


class World:
    """Clients that act on what they last read, a log of all events, and followers."""

    def __init__(self, clock: VirtualClock, faults: list[int]) -> None:
        self.clock = clock
        self.cluster = MemoryCluster(
            clock=clock, rng=random.Random(1), options=ClusterOptions(history=WINDOW)
        )
        self.server = cast("ApiServer", FlakyServer(self.cluster, faults))
        self.seen: list[dict[str, Raw]] = [{} for _ in range(CLIENTS)]
        self.log: list[WatchEvent] = []
        self.binds: list[str] = []
        self.followers: list[Follower] = []
        self.start = self.cluster.resource_version

    def contents(self) -> Contents:
        return {pod.key: pod for pod in self.cluster.objects(PODS)}

    async def do(self, step: Step) -> None:
        """Take a step; one that is refused must leave everything as it was."""
        before = (self.cluster.resource_version, self.contents())
        try:
            await getattr(self, f"_{step[0]}")(*step[1:])
        except ApiError:
            assert (self.cluster.resource_version, self.contents()) == before
        self.cluster.validate()
        await self._note_events()

    async def _note_events(self) -> None:
        """Bring the log up to date, and check that it adds up to what is stored."""
        last = int(self.log[-1].resource_version) if self.log else self.start
        events = self.cluster.watch(PODS, resource_version=str(last))
        while last < self._last_pod_version():
            event = await anext(events)
            last = int(event.resource_version)
            self.log.append(event)
        await events.aclose()
        assert _replayed(self.log) == self.contents()

    def _last_pod_version(self) -> int:
        history = self.cluster.registry.store.table(PODS).history
        return history.at(history.end - 1, 0).version if history.end else self.start

    async def _create(self, client: int, name: str) -> None:
        pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.seen[client][name] = await self.cluster.create(PODS, pod)

    async def _read(self, client: int, name: str) -> None:
        self.seen[client][name] = await self.cluster.get(PODS, "default", name)

    async def _update(self, client: int, name: str, value: int) -> None:
        if pod := self.seen[client].get(name):
            pod["metadata"]["labels"] = {"v": str(value)}
            current = self.contents().get(f"default/{name}")
            self.seen[client][name] = await self.cluster.update(PODS, pod)
            assert current is not None
            assert pod["metadata"]["resourceVersion"] == current.metadata.resource_version

    async def _patch(self, client: int, name: str, value: int) -> None:
        change = {"metadata": {"labels": {"v": str(value)}}}
        self.seen[client][name] = await self.cluster.patch(PODS, "default", name, change)

    async def _status(self, client: int, name: str, value: int) -> None:
        change = {"status": {"conditions": [{"type": "T", "status": str(value)}]}}
        await self.cluster.patch_pod_status("default", name, change, self._uid(client, name))

    async def _finalizers(self, client: int, name: str, finalizers: list[str]) -> None:
        change = {"metadata": {"finalizers": finalizers}}
        await self.cluster.patch(PODS, "default", name, change)

    async def _delete(self, client: int, name: str, grace: int | None, by_uid: bool) -> None:
        uid = self._uid(client, name) if by_uid else ""
        await self.cluster.delete(PODS, "default", name, uid=uid, grace_period_seconds=grace)

    async def _bind(self, client: int, name: str, node: str, by_uid: bool) -> None:
        uid = self._uid(client, name) if by_uid else ""
        await self.cluster.bind("default", name, uid, node)
        self.binds.append(self.contents()[f"default/{name}"].uid)

    async def _evict(self, client: int, name: str) -> None:
        await self.cluster.evict("default", name, uid=self._uid(client, name))

    async def _follow(self, slow: bool) -> None:
        self.followers.append(Follower(self.server, self.clock, slow=slow))

    async def _pass(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    async def _let(self, index: int, count: int) -> None:
        if index < len(self.followers):
            for _ in range(count):
                self.followers[index].permits.release()
            await asyncio.sleep(0)

    def _uid(self, client: int, name: str) -> str:
        uid: str = self.seen[client].get(name, {}).get("metadata", {}).get("uid", "unknown")
        return uid

    async def settle(self) -> None:
        """Give every follower the time it needs."""
        for follower in self.followers:
            follower.hurry()
        await self.clock.sleep(200.0)
        for follower in self.followers:
            assert not follower.task.done(), "a follower never ends by itself"
            follower.task.cancel()
        results = await asyncio.gather(
            *(follower.task for follower in self.followers), return_exceptions=True
        )
        assert all(isinstance(result, asyncio.CancelledError) for result in results), results


def _version(item: KubeObject) -> int:
    return int(item.metadata.resource_version)


def _replayed(log: list[WatchEvent]) -> Contents:
    contents: Contents = {}
    for event in log:
        assert event.object is not None
        if event.type == "DELETED":
            del contents[event.object.key]
        else:
            assert (event.type == "ADDED") == (event.object.key not in contents)
            contents[event.object.key] = event.object
    return contents


def _run(steps: list[Step], faults: list[int]) -> World:
    clock = VirtualClock(start=1_700_000_000.0)

    async def main() -> World:
        world = World(clock, faults)
        for each in steps:
            await world.do(each)
        await world.settle()
        return world

    return run_virtual(main(), clock)


steps = st.lists(step, min_size=20, max_size=80)
faults = st.lists(st.integers(0, 9), max_size=20)


@given(steps, faults)
def test_every_follower_ends_with_exactly_what_is_stored(
    steps: list[Step], faults: list[int]
) -> None:
    world = _run([("follow", False), ("follow", True), *steps], faults)

    for follower in world.followers:
        assert follower.believed == world.contents()
        assert follower.reflector.known == follower.believed


@given(steps)
def test_versions_strictly_increase_and_events_of_an_object_are_in_order(
    steps: list[Step],
) -> None:
    world = _run(steps, [])

    versions = [int(event.resource_version) for event in world.log]
    assert versions == sorted(set(versions))
    for event in world.log:
        assert event.object is not None
        assert event.object.metadata.resource_version == event.resource_version


@given(steps)
def test_a_pod_is_bound_at_most_once(steps: list[Step]) -> None:
    world = _run(steps, [])

    assert len(world.binds) == len(set(world.binds))
    nodes: dict[str, str] = {}
    for event in world.log:
        pod = cast("Pod", event.object)
        assert nodes.get(pod.uid, "") in ("", pod.spec.node_name), "a node is never changed"
        nodes[pod.uid] = pod.spec.node_name
    assert sum(bool(node) for node in nodes.values()) == len(world.binds)


@given(steps, st.data())
def test_a_watch_from_any_version_gets_what_happened_since_or_is_gone(
    steps: list[Step], data: st.DataObject
) -> None:
    world = _run(steps, [])
    version = data.draw(st.integers(1, world.cluster.resource_version))
    since = [event for event in world.log if int(event.resource_version) > version]

    async def watched() -> list[WatchEvent]:
        async with aclosing(world.cluster.watch(PODS, resource_version=str(version))) as events:
            return [await anext(events) for _ in since]

    try:
        assert run_virtual(watched(), VirtualClock()) == since
    except Gone:
        assert len(since) > WINDOW
    else:
        assert len(since) <= WINDOW
