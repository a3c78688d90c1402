"""Columns of many resources: as right as those of few, and what is zero costs no memory."""

import numpy as np
import pytest

from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.cache.node_view import Nodes, fullest
from moorage.cache.wide_columns import FEW, grown, zeros
from moorage.testing import node, pod
from tests.unit.resident_memory import resident_bytes

NODES = 90


def name(index: int) -> str:
    return f"example.com/r{index}"


@pytest.fixture
def cache() -> Cache:
    """Every node has a resource of its own, and a pod that uses half of it."""
    made = Cache()
    for i in range(NODES):
        made.put_node(node(f"n{i}").offering({name(i): "4"}).build())
        made.put_pod(pod(f"p{i}").requesting({name(i): "2"}).on(f"n{i}").build())
    return made


def test_every_resource_is_where_it_was_offered_and_nowhere_else(cache: Cache) -> None:
    validate_cache(cache)
    table = cache.table
    for i in range(NODES):
        index = table.resources.find(name(i))
        assert index is not None
        assert np.flatnonzero(table.allocatable[index]).tolist() == [table.row_of[f"n{i}"]]
        assert table.free[index].max() == 2


def test_floats_are_the_same_of_resources_that_have_them_kept_and_of_others(cache: Cache) -> None:
    table, nodes = cache.table, Nodes.all(cache.table)
    first, last = table.resources.find(name(0)), table.resources.find(name(NODES - 1))
    assert first is not None
    assert last is not None
    assert first < FEW < last
    for index, row in ((first, table.row_of["n0"]), (last, table.row_of[f"n{NODES - 1}"])):
        offered, used, share, scored = (column[row] for column in nodes.floats(index))
        assert (offered, used, share, scored) == (4.0, 2.0, 0.5, 2.0)
        assert nodes.floats(index).offered[row - 1] == 1.0
    assert fullest(table, nodes.rows)[table.row_of[f"n{NODES - 1}"]] == 0.5


def test_a_node_that_offers_something_else_than_before_is_counted_anew(cache: Cache) -> None:
    cache.put_node(node("n7").offering({name(3): "1"}).build())
    cache.remove_node(node("n8").build())

    validate_cache(cache)
    table = cache.table
    offering = [table.offering[table.resources.find(name(i)) or 0] for i in (3, 7, 8, 9)]
    assert offering == [2, 0, 0, 1]


def test_room_everywhere_needs_a_resource_everywhere(cache: Cache) -> None:
    index = cache.table.resources.find(name(5))
    assert index is not None
    assert not cache.table.has_everywhere([(index, 1)])
    assert cache.table.has_everywhere([(index, 0)])


def test_a_thousand_resources_of_a_thousand_nodes_cost_what_is_written() -> None:
    before = resident_bytes()
    made = zeros(4096, 4096, np.dtype(np.int64))
    for i in range(1000):
        made[i, i] = 1
    made = grown(made, 8192, 8192)

    assert made.sum() == made.trace() == 1000
    assert made.nbytes == 2**29
    assert resident_bytes() - before < 2**26
