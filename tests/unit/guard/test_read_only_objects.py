"""What a plugin is given may be read, and not changed."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.cache.table import NodeTable
from moorage.guard.read_only_objects import MutationError, ReadOnlyDict, seal
from moorage.testing import node, pod

POD = (
    pod("web")
    .labelled(app="web")
    .annotated(note="x")
    .requesting(cpu="1")
    .selecting(disk="ssd")
    .with_spec(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    )
)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: d.__setitem__("a", "b"), id="set"),
        pytest.param(lambda d: d.__delitem__("app"), id="del"),
        pytest.param(lambda d: d.update(a="b"), id="update"),
        pytest.param(lambda d: d.pop("app"), id="pop"),
        pytest.param(lambda d: d.popitem(), id="popitem"),
        pytest.param(lambda d: d.clear(), id="clear"),
        pytest.param(lambda d: d.setdefault("a", "b"), id="setdefault"),
        pytest.param(lambda d: d.__ior__({"a": "b"}), id="update in place"),
    ],
)
def test_labels_cannot_be_changed(change: Callable[[Any], Any]) -> None:
    built = POD.build()
    seal(built)

    with pytest.raises(MutationError, match="may not be changed"):
        change(built.labels)

    assert built.labels == {"app": "web"}


def test_every_mapping_at_any_depth_is_sealed() -> None:
    built = POD.build()
    seal(built)

    spread = built.spec.topology_spread_constraints[0].label_selector
    assert spread is not None
    mappings = (
        built.annotations,
        built.spec.node_selector,
        built.spec.containers[0].resources.requests,
        spread.match_labels,
    )
    assert {type(mapping) for mapping in mappings} == {ReadOnlyDict}


def test_a_sealed_object_is_the_same_to_everyone_who_reads_it() -> None:
    built, sealed = POD.build(), POD.build()
    seal(sealed)

    assert sealed == built
    assert msgspec.json.encode(sealed) == msgspec.json.encode(built)
    assert copy.deepcopy(sealed.labels) == built.labels
    assert type(copy.copy(sealed.labels)) is type(copy.deepcopy(sealed.labels)) is dict
    assert type(pickle.loads(pickle.dumps(sealed.labels))) is dict


def test_sealing_twice_changes_nothing() -> None:
    built = node("a").labelled(zone="x").build()
    seal(built)
    labels = built.labels
    seal(built)

    assert built.labels is labels


COLUMNS = (
    "alive",
    "allocatable",
    "requested",
    "free",
    "nonzero",
    "allowed_pods",
    "pod_count",
    "unschedulable",
    "taint_set",
)
FLOATS = ("allocatable_f8", "requested_f8", "nonzero_f8", "used_share")


def wide_table() -> NodeTable:
    """More resources and more nodes than it begins with."""
    table = NodeTable()
    for i in range(70):
        table.put_node(node(f"n{i}").offering({f"example.com/r{i % 50}": "1"}).build())
    return table


@pytest.mark.parametrize("column", COLUMNS)
def test_the_columns_of_the_table_are_read_only_also_after_it_has_grown(column: str) -> None:
    table = wide_table()

    for found in (getattr(table, column), getattr(Nodes.all(table), column)):
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0


@pytest.mark.parametrize("column", FLOATS)
def test_amounts_as_floats_are_read_only(column: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(wide_table(), column)[...] = 0


def test_label_columns_are_read_only() -> None:
    cache = Cache()
    cache.put_node(node("a").in_zone("x").build())
    zones = cache.table.label("topology.kubernetes.io/zone")

    for found in (zones.ids, zones.truth("x", lambda value: value == "x")):
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0
