"""The consistency check of the cache: its columns must equal columns rebuilt from the objects."""

import numpy as np

from moorage.cache.cache import Cache
from moorage.cache.table import NodeTable


def validate_cache(cache: Cache) -> None:
    """Raise AssertionError naming the first column that differs from the rebuilt one."""
    table = cache.table
    _check_rows(table)
    fresh = _rebuilt(cache)
    for name, row in table.row_of.items():
        _check_row(name, table, row, fresh, fresh.row_of[name])
    assert table.pods_with_affinity == fresh.pods_with_affinity, "pods_with_affinity"
    _check_pods(cache)


def _rebuilt(cache: Cache) -> NodeTable:
    fresh = NodeTable()
    fresh.resources = cache.table.resources
    for row in cache.table.row_of.values():
        fresh.put_node(cache.table.node(row))
    for node, pod in cache.pods():
        if node in fresh.row_of:
            fresh.add_pod(fresh.row_of[node], pod)
    for column in cache.table._labels:
        fresh.label(column)
    return fresh


def _check_rows(table: NodeTable) -> None:
    offering = np.count_nonzero(table.allocatable[:, table.alive], axis=1).tolist()
    assert table.offering == offering, f"offering: {table.offering} != {offering}"
    alive = set(np.flatnonzero(table.alive).tolist())
    assert alive == set(table.row_of.values()), "alive rows are not the rows of known nodes"
    assert table.rows == len(table.nodes) == len(table.pods), "row lists differ in length"
    for row in range(table.rows):
        if row not in alive:
            counts = table.pod_count[row] or table.pods[row] or table.requested[:, row].any()
            assert not counts, f"free row {row} still counts pods"


def _check_row(name: str, table: NodeTable, row: int, fresh: NodeTable, other: int) -> None:
    height = min(len(table.allocatable), len(fresh.allocatable))
    for column in ("allocatable", "requested"):
        ours, theirs = getattr(table, column)[:, row], getattr(fresh, column)[:, other]
        same = np.array_equal(ours[:height], theirs[:height]) and not ours[height:].any()
        assert same, f"{column} of {name}: {ours} != {theirs}"
    assert np.array_equal(table.nonzero[:, row], fresh.nonzero[:, other]), f"nonzero of {name}"
    for column in ("requested", "nonzero"):
        mirror = getattr(table, f"{column}_f8")[:, row]
        amounts = getattr(table, column)[: len(mirror), row]
        assert np.array_equal(amounts, mirror), f"{column}_f8 of {name}"
    mirror = table.allocatable_f8[:, row]
    offered = np.maximum(table.allocatable[: len(mirror), row], 1)
    assert np.array_equal(offered, mirror), f"allocatable_f8 of {name}"
    shares = np.minimum(table.requested_f8[:, row] / mirror, 1.0)
    assert np.array_equal(shares, table.used_share[:, row]), f"used_share of {name}"
    free = table.allocatable[:, row] - table.requested[:, row]
    assert np.array_equal(table.free[:, row], free), f"free of {name}"
    for column in ("allowed_pods", "pod_count", "unschedulable"):
        ours, theirs = getattr(table, column)[row], getattr(fresh, column)[other]
        assert ours == theirs, f"{column} of {name}: {ours} != {theirs}"
    taints = table.taint_sets.values[table.taint_set[row]]
    assert taints == table.node(row).taints, f"taints of {name}"
    for key, labels in table._labels.items():
        value = labels.values.values[labels.ids[row]]
        assert value == table.node(row).labels.get(key), f"label {key} of {name}"
    ports = {port: rows[row] for port, rows in table.ports.used().items() if row in rows}
    want = {port: rows[other] for port, rows in fresh.ports.used().items() if other in rows}
    assert ports == want, f"ports of {name}: {ports} != {want}"
    assert table.images.held(row) == fresh.images.held(other), f"images of {name}"


def _check_pods(cache: Cache) -> None:
    for uid in cache.assumed:
        assert cache.pod(uid) is not None, f"assumed pod {uid} is nowhere"
    counted = {uid for pods in cache.table.pods for uid in pods}
    homeless = {uid for pods in cache._homeless.values() for uid in pods}
    assert not counted & homeless, "a pod is both on a node and homeless"
    assert counted | homeless == {pod.uid for _, pod in cache.pods()}, "a pod was lost"
    for node in cache._homeless:
        assert node not in cache.table.row_of, f"pods wait for {node}, which is here"
