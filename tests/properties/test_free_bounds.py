"""Floors: what they promise of all nodes holds for each of them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.cache.cache import Cache
from tests.properties.test_cache import nodes, perform, pods, steps

asked = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3000)), max_size=3)


def has_room(cache: Cache, row: int, amounts: list[tuple[int, int]]) -> bool:
    table = cache.table
    return bool(table.pod_count[row] < table.allowed_pods[row]) and all(
        resource < len(table.free) and table.free[resource, row] >= amount
        for resource, amount in amounts
    )


@given(st.lists(st.tuples(steps, asked), max_size=25))
def test_room_everywhere_is_room_on_every_node(
    history: list[tuple[tuple[str, Any], list[tuple[int, int]]]],
) -> None:
    cache = Cache()
    for step, amounts in history:
        perform(cache, step)
        if cache.table.has_everywhere(amounts):
            assert all(has_room(cache, row, amounts) for row in cache.table.row_of.values())


@given(st.lists(nodes(), min_size=1, max_size=4), st.lists(pods(), max_size=4), asked)
def test_a_fresh_floor_is_as_high_as_can_be(
    offered: list[Any], bound: list[Any], amounts: list[tuple[int, int]]
) -> None:
    cache = Cache()
    for node in offered:
        cache.put_node(node)
    for pod in bound:
        cache.put_pod(pod)
    rows = cache.table.row_of.values()
    known = [each for each in amounts if each[0] < len(cache.table.free)]
    assert cache.table.has_everywhere(known) == all(has_room(cache, row, known) for row in rows)
