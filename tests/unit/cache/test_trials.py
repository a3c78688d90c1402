"""A trial leaves everything as it was: pods, their order, what is assumed, and nodes."""

import pytest

from moorage.cache import consistency
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.testing import node, pod

NAMES = ("first", "second", "third")


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    for name in ("a", "b"):
        cache.put_node(node(name).build())
    for name in NAMES:
        cache.put_pod(pod(name).on("a").requesting(cpu="1").build())
    return cache


def on(cache: Cache, name: str) -> list[str]:
    row = cache.table.row_of[name]
    return [info.pod.name for info in cache.table.pods[row].values()]


def infos(cache: Cache) -> list[PodInfo]:
    return [info for _, info in cache.pods()]


def test_pods_that_came_back_in_the_trial_are_where_they_were(cache: Cache) -> None:
    home = cache.table.row_of["a"]
    with cache.trial():
        for info in infos(cache):
            cache.displace(info)
            cache.place_on(home, info)
        cache.displace(infos(cache)[0])
        assert on(cache, "a") != list(NAMES)

    assert on(cache, "a") == list(NAMES)
    consistency.validate_cache(cache)


def test_pods_that_came_back_are_not_counted_again(cache: Cache) -> None:
    log, home = cache.table.pod_log, cache.table.row_of["a"]
    first = infos(cache)[0]
    with cache.trial():
        cache.displace(first)
        cache.place_on(home, first)
        within = log.version

    assert log.version == within


def test_a_pod_that_was_moved_twice_is_where_it_was(cache: Cache) -> None:
    first = infos(cache)[0]
    with cache.trial():
        for name in ("b", "a", "b"):
            cache.displace(first)
            cache.place_on(cache.table.row_of[name], first)
        assert on(cache, "b") == ["first"]

    assert (on(cache, "a"), on(cache, "b")) == (list(NAMES), [])
    consistency.validate_cache(cache)


def test_what_was_assumed_is_assumed_again(cache: Cache) -> None:
    waiting = cache.info(pod("waiting").requesting(cpu="1").build())
    cache.assume(waiting, "b")
    with cache.trial():
        cache.displace(waiting)
        cache.place_on(cache.table.row_of["b"], waiting)
        assert waiting.uid not in cache.assumed

    assert waiting.uid in cache.assumed
    assert on(cache, "b") == ["waiting"]


def test_nodes_come_back_with_their_pods(cache: Cache) -> None:
    first = infos(cache)[0]
    with cache.trial():
        cache.displace(first)
        cache.remove_node(cache.table.node(cache.table.row_of["a"]))
        cache.put_node(node("new").build())
        cache.place_on(cache.table.row_of["new"], first)

    assert sorted(on(cache, "a")) == sorted(NAMES)
    assert "new" not in cache.table.row_of
    consistency.validate_cache(cache)


def test_trials_nest(cache: Cache) -> None:
    first, second, _ = infos(cache)
    with cache.trial():
        cache.displace(first)
        with cache.trial():
            cache.displace(second)
            cache.place_on(cache.table.row_of["b"], first)
        assert (on(cache, "a"), on(cache, "b")) == (["second", "third"], [])

    assert on(cache, "a") == list(NAMES)
