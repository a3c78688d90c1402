"""What nodes once had is forgotten: label values, label keys and taints of nodes that are gone."""

import numpy as np

from moorage.api.node import Node
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.cache.pod_counters import PodCounters
from moorage.testing import node

CHURNED = 3000
MOST = 1100
ZONE = "topology.kubernetes.io/zone"


def passing(number: int) -> Node:
    own = {"rack": f"r{number}", f"own-{number}": "yes", ZONE: f"z{number}"}
    return node(f"passing{number}").labelled(own).tainted(f"example.com/{number}").build()


def churned() -> Cache:
    cache = Cache()
    cache.put_node(node("stays").labelled({"rack": "first", ZONE: "z"}).tainted("spot").build())
    table = cache.table
    table.label("rack")
    counters = PodCounters.of(table)
    topology = counters.topologies.topology(ZONE)
    for number in range(CHURNED):
        cache.put_node(passing(number))
        table.label(f"own-{number}")
        if number % 100 == 0:
            PodCounters.of(table)
            assert topology.present == 2
        cache.remove_node(passing(number))
    return cache


def test_label_values_of_nodes_that_are_gone_are_forgotten() -> None:
    table = churned().table
    column = table.label("rack")

    assert len(column.values) < MOST
    assert column.values.values[column.ids.item(table.row_of["stays"])] == "first"
    assert column.values.find("r1") is None


def test_so_are_label_keys_and_their_columns() -> None:
    table = churned().table

    assert len(table._label_keys) < MOST
    assert len(table._labels) < MOST
    assert table.has_label("rack")
    assert not table.has_label("own-1")


def test_so_are_taints() -> None:
    cache = churned()
    table = cache.table
    row = table.row_of["stays"]

    assert len(table.taint_sets) < MOST
    assert [taint.key for taint in table.taint_sets.values[table.taint_set.item(row)]] == ["spot"]
    validate_cache(cache)


def test_domains_are_those_of_the_nodes_that_are_there() -> None:
    cache = churned()
    cache.put_node(passing(7))
    topology = PodCounters.of(cache.table).topologies.topology(ZONE)
    rows = [cache.table.row_of[name] for name in ("stays", "passing7")]

    assert topology.present == 2
    assert topology.of_row[rows].tolist() == [topology.domain_of("z"), topology.domain_of("z7")]
    assert int(np.count_nonzero(topology.members)) == 2


def test_a_rule_on_values_is_asked_again_where_they_were_numbered_anew() -> None:
    table = churned().table
    row = table.row_of["stays"]
    truth = table.label("rack").truth("first?", lambda value: value == "first")

    assert truth[table.label("rack").ids.item(row)]
    assert np.count_nonzero(truth) == 1
