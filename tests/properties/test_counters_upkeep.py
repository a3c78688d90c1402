"""Pod counters stay small: ids are reused, what nobody needs is dropped."""

from typing import Any

import pytest

from moorage.api import selectors
from moorage.api.decode import decode_as
from moorage.api.node import HOSTNAME_LABEL, Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.pod_counters import PodCounters
from moorage.cache.pod_selection import Clause, PodSelection


def node(name: str, **labels: str) -> Node:
    return decode_as({"metadata": {"name": name, "labels": {HOSTNAME_LABEL: name, **labels}}}, Node)


def pod(name: str, on: str, labels: dict[str, str], spec: dict[str, Any] | None = None) -> Pod:
    metadata = {"name": name, "uid": name, "namespace": "default", "labels": labels}
    return decode_as({"metadata": metadata, "spec": {"nodeName": on, **(spec or {})}}, Pod)


def selecting(**labels: str) -> PodSelection:
    return PodSelection((Clause(None, selectors.from_labels(labels)),), dying=True)


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    cache.put_node(node("n0"))
    return cache


def test_domain_ids_are_reused_while_nodes_come_and_go(cache: Cache) -> None:
    for number in range(1, 12):
        cache.put_node(node(f"n{number}"))
    counters = PodCounters(cache.table)
    topology = counters.topologies.topology(HOSTNAME_LABEL)
    for number in range(200):
        cache.put_node(node(f"m{number}"))
        counters.catch_up()
        cache.remove_node(node(f"m{number}"))
        counters.catch_up()

    assert topology.present == 12
    assert topology.width == 16


def test_tallies_not_asked_for_longest_are_dropped_when_memory_runs_short(cache: Cache) -> None:
    cache.put_pod(pod("p", "n0", {"app": "a"}))
    counters = PodCounters(cache.table, budget=5 * 64 * 4)
    counters.catch_up()
    kept = counters.selected(selecting(app="a"))
    dropped = counters.selected(selecting(app="b"))
    for number in range(20):
        counters.selected(selecting(app=f"x{number}"))
        assert counters.selected(selecting(app="a")) is kept

    cache.put_pod(pod("q", "n0", {"app": "a"}))
    cache.put_pod(pod("r", "n0", {"app": "b"}))
    counters.catch_up()

    assert kept.count[0] == 2
    assert dropped.count[0] == 0
    assert counters.selected(selecting(app="b")).count[0] == 1


def test_labels_that_no_pod_has_any_more_are_swept(cache: Cache) -> None:
    counters = PodCounters(cache.table, sweep_after=16)
    counters.catch_up()
    tally = counters.selected(selecting(app="a"))
    for number in range(200):
        cache.put_pod(pod("p", "n0", {"app": "a", "unique": str(number)}))
        counters.catch_up()

    assert tally.count[0] == 1
    assert len(counters.census.groups) <= 18
    assert len(tally.sources) <= 18


def test_terms_that_no_pod_carries_any_more_are_swept(cache: Cache) -> None:
    counters = PodCounters(cache.table, sweep_after=16)
    for number in range(200):
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
        weighted = {"weight": number, "podAffinityTerm": term}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
        cache.put_pod(pod("p", "n0", {}, {"affinity": {"podAffinity": preferred}}))
        counters.catch_up()
    found = counters.census.terms_about("default", {"app": "a"}, {})

    assert 199 in [carried.weight for carried in found if carried.rows]
    assert len(found) <= 18


def test_a_class_of_pods_that_was_swept_is_counted_again_when_it_returns(cache: Cache) -> None:
    counters = PodCounters(cache.table, sweep_after=0)
    counters.catch_up()
    tally = counters.selected(selecting(app="a"))
    for name, labels in (("p", {"app": "a"}), ("p", {}), ("q", {"x": "y"}), ("p", {"app": "a"})):
        cache.put_pod(pod(name, "n0", labels))
        counters.catch_up()

    assert tally.count[0] == 1


def test_topologies_not_asked_for_longest_are_dropped(cache: Cache) -> None:
    counters = PodCounters(cache.table)
    counters.catch_up()
    tally = counters.selected(selecting(app="a"))
    for number in range(1000):
        tally.over(counters.topologies.topology(f"key{number}"))

    assert tally.nbytes < 300 * 8 * 8 + 64 * 4


def test_counters_belong_to_the_table(cache: Cache) -> None:
    assert PodCounters.of(cache.table) is PodCounters.of(cache.table)
    assert PodCounters.of(cache.table) is not PodCounters.of(Cache().table)


def test_there_are_never_more_tallies_than_are_kept(cache: Cache) -> None:
    cache.put_pod(pod("p", "n0", {"app": "a"}))
    counters = PodCounters(cache.table, kept=40)
    counters.catch_up()
    kept = counters.selected(selecting(app="a"))
    for number in range(1000):
        counters.selected(selecting(app=f"x{number}"))
        assert counters.selected(selecting(app="a")) is kept
        assert len(counters._tallies) <= 40

    assert kept.count[0] == 1
