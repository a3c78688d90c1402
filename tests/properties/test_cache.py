"""The cache under any sequence of events: equal to a rebuilt one, and able to go back."""

import copy
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache

NODES = [f"n{index}" for index in range(4)]
PODS = [f"p{index}" for index in range(8)]

quantities = st.sampled_from(["0", "100m", "1", "2500m", "64Mi", "1Gi", "1e3"])


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    name = draw(st.sampled_from(NODES))
    taints = draw(st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True))
    offered = {"cpu": draw(quantities), "memory": draw(quantities), "pods": "10"}
    if draw(st.booleans()):
        offered[draw(st.sampled_from(["example.com/gpu", "example.com/fpga", "hugepages-2Mi"]))] = (
            "4"
        )
    return decode_as(
        {
            "metadata": {
                "name": name,
                "labels": {
                    "zone": draw(st.sampled_from("xyz")),
                    "host": name,
                    "topology.kubernetes.io/region": draw(st.sampled_from("pq")),
                },
            },
            "spec": {
                "unschedulable": draw(st.booleans()),
                "taints": [{"key": key, "effect": "NoSchedule"} for key in taints],
            },
            "status": {
                "allocatable": offered,
                "images": [
                    {"names": [f"image-{draw(st.integers(0, 2))}:v1"], "sizeBytes": 1000}
                    for _ in range(draw(st.integers(0, 2)))
                ],
            },
        },
        Node,
    )


@st.composite
def pods(draw: st.DrawFn, bound: bool = True) -> Pod:
    name = draw(st.sampled_from(PODS))
    requests = {"cpu": draw(quantities), "memory": draw(quantities)}
    if draw(st.booleans()):
        requests[draw(st.sampled_from(["example.com/gpu", "example.com/tpu"]))] = "1"
    container: dict[str, Any] = {"name": "c", "resources": {"requests": requests}}
    if draw(st.booleans()):
        container["ports"] = [{"containerPort": 80, "hostPort": draw(st.integers(8080, 8081))}]
    spec: dict[str, Any] = {"containers": [container]}
    if bound:
        spec["nodeName"] = draw(st.sampled_from([*NODES, "nowhere"]))
    return decode_as({"metadata": {"name": name, "uid": name}, "spec": spec}, Pod)


steps = st.one_of(
    st.tuples(st.just("put_node"), nodes()),
    st.tuples(st.just("remove_node"), nodes()),
    st.tuples(st.just("put_pod"), pods()),
    st.tuples(st.just("remove_pod"), pods()),
    st.tuples(st.just("resize"), pods()),
    st.tuples(st.just("assume"), pods(bound=False)),
    st.tuples(st.just("forget"), pods(bound=False)),
    st.tuples(st.just("ask_label"), st.sampled_from(["zone", "host", "absent"])),
)


def perform(cache: Cache, step: tuple[str, Any]) -> None:
    name, value = step
    if name == "put_node":
        cache.put_node(value)
    elif name == "remove_node":
        cache.remove_node(value)
    elif name == "put_pod":
        cache.put_pod(value)
    elif name == "remove_pod":
        cache.remove_pod(value.uid)
    elif name == "resize":
        known = cache.pod(value.uid)
        if known is not None:
            spec = msgspec.structs.replace(value.spec, node_name=cache.node_of(value.uid))
            cache.put_pod(msgspec.structs.replace(value, spec=spec))
    elif name == "ask_label":
        cache.table.label(value)
    elif name == "assume":
        if cache.pod(value.uid) is None:
            cache.assume(cache.info(value), NODES[0])
    elif value.uid in cache.assumed:
        cache.forget(cache.info(value))


def rebuilt(cache: Cache) -> Cache:
    fresh = Cache()
    for row in cache.table.row_of.values():
        fresh.put_node(cache.table.node(row))
    for node, info in cache.pods():
        fresh._place(fresh.info(info.pod), node)
        if info.uid in cache.assumed:
            fresh.assumed.add(info.uid)
    return fresh


def facts(cache: Cache) -> dict[str, Any]:
    """Everything the columns say, by node and resource name, whatever row it stands in."""
    table = cache.table
    names = table.resources.values
    height = len(table.allocatable)
    return {
        node: {
            "allocatable": {
                n: int(table.allocatable[i, row]) for i, n in enumerate(names[:height])
            },
            "requested": {n: int(table.requested[i, row]) for i, n in enumerate(names[:height])},
            "nonzero": table.nonzero[:, row].tolist(),
            "counts": (int(table.pod_count[row]), int(table.allowed_pods[row])),
            "unschedulable": bool(table.unschedulable[row]),
            "taints": table.taint_sets.values[table.taint_set[row]],
            "zone": table.label("zone").values.values[table.label("zone").ids[row]],
            "pods": sorted(table.pods[row]),
            "images": table.images.held(row),
            "ports": {p: rows[row] for p, rows in table.ports.used().items() if row in rows},
        }
        for node, row in table.row_of.items()
    }


def without_zeros(told: dict[str, Any]) -> dict[str, Any]:
    return {
        node: row
        | {
            column: {name: amount for name, amount in row[column].items() if amount}
            for column in ("allocatable", "requested")
        }
        for node, row in told.items()
    }


@given(st.lists(steps, max_size=40))
def test_any_sequence_of_events_gives_the_table_that_a_rebuild_gives(
    history: list[tuple[str, Any]],
) -> None:
    cache = Cache()
    for step in history:
        perform(cache, step)
        validate_cache(cache)

    assert without_zeros(facts(rebuilt(cache))) == without_zeros(facts(cache))


@given(st.lists(steps, max_size=25), st.lists(steps, max_size=25))
def test_rolling_back_a_trial_restores_every_column(
    history: list[tuple[str, Any]], trial: list[tuple[str, Any]]
) -> None:
    cache = Cache()
    for step in history:
        perform(cache, step)
    before = copy.deepcopy(without_zeros(facts(cache)))
    assumed = set(cache.assumed)
    order = list(cache.node_order())
    moment = cache.moment

    with cache.trial():
        for step in trial[::2]:
            perform(cache, step)
        with cache.trial():
            for step in trial[1::2]:
                perform(cache, step)

    validate_cache(cache)
    assert cache.moment == moment
    assert before == without_zeros(facts(cache))
    assert assumed == cache.assumed
    assert sorted(order) == sorted(cache.node_order())


@given(st.lists(steps, max_size=30), st.integers(0, 30))
def test_the_logs_name_every_row_that_changed(history: list[tuple[str, Any]], start: int) -> None:
    cache = Cache()
    for step in history[:start]:
        perform(cache, step)
    table = cache.table
    usage, node = table.usage_log.version, table.node_log.version
    requested = table.requested.copy()
    allocatable = table.allocatable.copy()
    count = table.rows

    for step in history[start:]:
        perform(cache, step)

    changed_usage = set(table.usage_log.since(usage) or ())
    changed_nodes = set(table.node_log.since(node) or ())
    height = len(requested)
    for row in range(count):
        if not np.array_equal(requested[:, row], table.requested[:height, row]):
            assert row in changed_usage
        if not np.array_equal(allocatable[:, row], table.allocatable[:height, row]):
            assert row in changed_nodes
    assert changed_nodes <= changed_usage
