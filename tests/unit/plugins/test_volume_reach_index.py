"""For every node, the first thing within its reach: all at once as one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.label_requirements import IN, Requirement
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.plugins.volumes.volume_affinity import NO_CHOICE, Reach, ReachIndex, reaches
from moorage.testing import node

ANYWHERE: Reach = None


def at(*hosts: str) -> Reach:
    return ((Requirement("host", IN, hosts),),)


def in_zone(host: str) -> Reach:
    """As `at`, but through two labels."""
    return ((Requirement("host", IN, (host,)), Requirement("zone", IN, ("z",))),)


def cached(hosts: list[str]) -> Cache:
    cache = Cache()
    for number, host in enumerate(hosts):
        cache.put_node(node(f"n{number}").labelled(host=host, zone="z").build())
    return cache


def test_a_node_gets_the_first_thing_within_its_reach() -> None:
    nodes = Nodes.all(cached(["a", "b", "c"]).table)
    offers = ReachIndex([at("b"), at("a", "b"), at("nowhere")])

    assert offers.best(nodes, np.ones(3, dtype=bool)).tolist() == [1, 0, NO_CHOICE]


def test_what_is_not_allowed_is_passed_over() -> None:
    nodes = Nodes.all(cached(["a"]).table)
    offers = ReachIndex([ANYWHERE, at("a"), in_zone("a")])

    assert offers.best(nodes, np.array([False, False, True])).tolist() == [2]


def test_what_a_node_has_taken_it_does_not_take_again() -> None:
    nodes = Nodes.all(cached(["a", "b"]).table)
    offers = ReachIndex([ANYWHERE, at("a")])
    first = offers.best(nodes, np.ones(2, dtype=bool))

    assert first.tolist() == [0, 0]
    assert offers.best(nodes, np.ones(2, dtype=bool), [first]).tolist() == [1, NO_CHOICE]


def test_labels_that_appear_later_are_seen() -> None:
    grown = cached(["a"])
    offers, allowed = ReachIndex([at("b")]), np.ones(1, dtype=bool)
    assert offers.best(Nodes.all(grown.table), allowed).tolist() == [NO_CHOICE]

    grown.put_node(node("late").labelled(host="b").build())

    assert offers.best(Nodes.all(grown.table), allowed).tolist() == [NO_CHOICE, 0]


hosts = st.sampled_from("abc")
some_reach = st.one_of(
    st.just(ANYWHERE),
    st.builds(at, hosts),
    st.builds(at, hosts, hosts),
    st.builds(in_zone, hosts),
    st.just(()),
)


@given(
    st.lists(st.tuples(some_reach, st.booleans()), max_size=8),
    st.lists(hosts, min_size=1, max_size=4),
)
def test_three_picks_in_turn_are_those_of_a_loop(
    offered: list[tuple[Reach, bool]], on: list[str]
) -> None:
    table = cached(on).table
    offers = ReachIndex([reach for reach, _ in offered])
    allowed = np.array([is_allowed for _, is_allowed in offered], dtype=bool)
    taken: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
    for _ in range(3):
        taken.append(offers.best(Nodes.all(table), allowed, taken))

    for row, host in enumerate(on):
        left = [
            thing
            for thing, (reach, is_allowed) in enumerate(offered)
            if is_allowed and reaches(reach, {"host": host, "zone": "z"})
        ]
        assert [int(picks[row]) for picks in taken] == [*left, NO_CHOICE, NO_CHOICE, NO_CHOICE][:3]


def test_labels_that_are_numbered_anew_are_read_anew() -> None:
    cache = cached(["x", "b", "a"])
    offers, allowed = ReachIndex([at("a"), at("b")]), np.ones(2, dtype=bool)
    assert offers.best(Nodes.all(cache.table), allowed).tolist() == [NO_CHOICE, 1, 0]

    cache.put_node(node("n0").labelled(host="a", zone="z").build())
    cache.table.label("host").renumber()

    assert offers.best(Nodes.all(cache.table), allowed).tolist() == [0, 1, 0]
