import asyncio
from contextlib import aclosing

import pytest

from moorage.clock import VirtualClock, run_virtual
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import Gone, VersionTooLarge
from moorage.watch.api_resources import NODES, Resource
from moorage.watch.api_server import WatchEvent


def add(cluster: MemoryCluster, *names: str) -> None:
    for name in names:
        cluster.add(NODES, {"metadata": {"name": name}})


async def take(
    cluster: MemoryCluster, version: str, count: int, resource: Resource = NODES
) -> list[WatchEvent]:
    taken = []
    async with aclosing(cluster.watch(resource, resource_version=version)) as events:
        async for event in events:
            taken.append(event)
            if len(taken) == count:
                break
    return taken


def names(events: list[WatchEvent]) -> list[str]:
    return [event.object.name if event.object else event.type for event in events]


def test_a_watch_begins_after_its_version(cluster: MemoryCluster) -> None:
    add(cluster, "a")
    version = str(cluster.resource_version)
    add(cluster, "b", "c")

    assert names(asyncio.run(take(cluster, version, 2))) == ["b", "c"]


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_from_no_version_begins_with_what_there_is(
    cluster: MemoryCluster, version: str
) -> None:
    async def main() -> list[WatchEvent]:
        add(cluster, "b", "a")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(take(cluster, version, 3))
            await asyncio.sleep(0)
            add(cluster, "c")
        return task.result()

    events = asyncio.run(main())

    assert names(events) == ["a", "b", "c"]
    assert {event.type for event in events} == {"ADDED"}


def test_events_tell_creation_change_and_deletion_with_their_versions(
    cluster: MemoryCluster,
) -> None:
    async def main() -> list[WatchEvent]:
        version = cluster.resource_version
        add(cluster, "a")
        await cluster.patch(NODES, "", "a", {"spec": {"unschedulable": True}})
        await cluster.delete(NODES, "", "a")
        return await take(cluster, str(version), 3)

    events = asyncio.run(main())

    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(event.resource_version) for event in events]
    assert versions == sorted(set(versions))
    for event in events:
        assert event.object is not None
        assert event.object.metadata.resource_version == event.resource_version


def test_all_watchers_are_given_the_very_same_objects(cluster: MemoryCluster) -> None:
    version = str(cluster.resource_version)
    add(cluster, "a")

    one, two = asyncio.run(take(cluster, version, 1)), asyncio.run(take(cluster, version, 1))

    assert one[0].object is two[0].object
    assert one[0].object is cluster.objects(NODES)[0]


def test_a_watch_from_a_version_no_longer_kept_is_gone() -> None:
    cluster = MemoryCluster(options=ClusterOptions(history=2))
    version = str(cluster.resource_version)
    add(cluster, "a", "b", "c")

    with pytest.raises(Gone, match="too old resource version"):
        asyncio.run(take(cluster, version, 1))


def test_a_quiet_resource_keeps_its_history_while_others_change() -> None:
    cluster = MemoryCluster(options=ClusterOptions(history=2))
    add(cluster, "a")
    version = str(cluster.resource_version)
    for name in "xyz":
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    add(cluster, "b")

    assert names(asyncio.run(take(cluster, version, 1))) == ["b"]


def test_a_watcher_that_falls_behind_the_history_is_gone() -> None:
    async def main() -> None:
        cluster = MemoryCluster(options=ClusterOptions(history=2))
        version = str(cluster.resource_version)
        add(cluster, "a")
        async with aclosing(cluster.watch(NODES, resource_version=version)) as events:
            await anext(events)
            add(cluster, "b", "c", "d")
            await anext(events)

    with pytest.raises(Gone):
        asyncio.run(main())


def test_a_watch_from_the_future_is_refused(cluster: MemoryCluster) -> None:
    with pytest.raises(VersionTooLarge):
        asyncio.run(take(cluster, "999", 1))


def follow(
    cluster: MemoryCluster, clock: VirtualClock, seconds: float, *, bookmarks: bool = True
) -> list[tuple[float, str]]:
    """Watch nodes until the time is up, while node `a` comes after 90 seconds."""

    async def main() -> list[tuple[float, str]]:
        async with asyncio.TaskGroup() as group:
            group.create_task(later())
            events = cluster.watch(
                NODES,
                resource_version=str(cluster.resource_version),
                timeout_seconds=seconds,
                bookmarks=bookmarks,
            )
            return [(clock.now() - start, names([event])[0]) async for event in events]

    async def later() -> None:
        await clock.sleep(90.0)
        add(cluster, "a")

    start = clock.now()
    return run_virtual(main(), clock)


def test_a_watch_with_a_time_limit_is_sent_bookmarks_and_ends(
    cluster: MemoryCluster, clock: VirtualClock
) -> None:
    assert follow(cluster, clock, 150.0) == [
        (60.0, "BOOKMARK"),
        (90.0, "a"),
        (120.0, "BOOKMARK"),
        (150.0, "BOOKMARK"),
    ]


def test_who_wants_no_bookmarks_is_sent_none(cluster: MemoryCluster, clock: VirtualClock) -> None:
    assert follow(cluster, clock, 150.0, bookmarks=False) == [(90.0, "a")]


def test_a_bookmark_has_the_version_of_the_whole_store(
    cluster: MemoryCluster, clock: VirtualClock
) -> None:
    async def main() -> list[WatchEvent]:
        version = str(cluster.resource_version)
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        events = cluster.watch(NODES, resource_version=version, timeout_seconds=1.0)
        return [event async for event in events]

    events = run_virtual(main(), clock)

    assert [event.resource_version for event in events] == [str(cluster.resource_version)]


def test_a_watch_without_a_time_limit_never_looks_at_the_clock(
    cluster: MemoryCluster, clock: VirtualClock
) -> None:
    async def main() -> float | None:
        task = asyncio.create_task(take(cluster, str(cluster.resource_version), 1))
        await asyncio.sleep(0)
        waking = clock.next_wake()
        add(cluster, "a")
        await task
        return waking

    assert asyncio.run(main()) is None


@pytest.mark.parametrize("since", ["", "1"])
def test_one_object_can_be_followed_by_itself(cluster: MemoryCluster, since: str) -> None:
    add(cluster, "a", "b", "c")
    one = NODES.one("b")

    assert names(asyncio.run(take(cluster, since, 1, one))) == ["b"]
    assert [item.name for item in asyncio.run(cluster.list_page(one)).items] == ["b"]
