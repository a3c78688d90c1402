"""Columns are computed once and kept fresh by the rows that changed."""

import numpy as np
import pytest

from moorage.cache import column_cache
from moorage.cache.column_cache import ColumnCache, Rule
from moorage.testing import Cluster, node, pod


def cluster_of(count: int) -> Cluster:
    return Cluster(*(node(f"n{index}") for index in range(count)))


def rows_for(cluster: Cluster, name: str, cpu: str = "100m") -> int:
    before = cluster.profile.columns.rows_recomputed
    assert cluster.place(pod(name).requesting(cpu=cpu))
    return cluster.profile.columns.rows_recomputed - before


def test_the_third_of_equal_pods_costs_the_rows_that_the_second_changed() -> None:
    cluster = cluster_of(200)
    first = rows_for(cluster, "one")
    rows_for(cluster, "two")

    third = rows_for(cluster, "three")

    assert first >= 200
    assert third <= 10


def test_a_changed_node_is_the_only_row_computed_again() -> None:
    cluster = cluster_of(200)
    for name in ("one", "two", "three"):
        rows_for(cluster, name)

    cluster.add(node("n7").tainted("spot"))
    after_taint = rows_for(cluster, "four")

    assert after_taint <= 20


def test_pods_of_which_no_two_are_alike_keep_no_columns() -> None:
    cluster = cluster_of(50)
    for index in range(20):
        rows_for(cluster, f"pod-{index}", cpu=f"{index + 1}m")

    kept = [key for key in cluster.profile.columns._columns if "NodeResources" in key[0]]
    assert kept == []


def test_a_kept_column_says_what_a_fresh_one_would() -> None:
    warm, cold = cluster_of(30), cluster_of(30)
    for index in range(40):
        place = warm.place(pod(f"pod-{index}").requesting(cpu="150m", memory="64Mi"))
        assert place is not None
        cold.add(pod(f"pod-{index}").requesting(cpu="150m", memory="64Mi").on(place))

    asked = pod("asked").requesting(cpu="150m", memory="64Mi")

    for plugin in ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration"):
        assert warm.scores(asked, plugin) == cold.scores(asked, plugin)


def test_over_the_budget_the_columns_asked_for_longest_ago_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = cluster_of(10)
    monkeypatch.setattr(column_cache, "_BUDGET_BYTES", 8 * 10 * 4)
    columns, table = ColumnCache(), cluster.cache.table
    rule = Rule("filled", np.int64, True, lambda cycle, pod, nodes, out: out.fill(1))

    def ask(*signs: int) -> int:
        before = columns.rows_recomputed
        for sign in signs:
            columns.get(rule, sign, table, None, None)
        return columns.rows_recomputed - before

    ask(*[each for sign in range(4) for each in (sign, sign)])
    assert ask(0, 1, 2, 3) == 0
    ask(4, 4)

    assert ask(4, 3, 2) == 0
    assert ask(0) == 10


def test_there_are_never_more_columns_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_of(1)
    monkeypatch.setattr(column_cache, "_COLUMNS_KEPT", 100)
    columns, table = ColumnCache(), cluster.cache.table
    rule = Rule("filled", np.int64, True, lambda cycle, pod, nodes, out: out.fill(1))
    for sign in range(1000):
        columns.get(rule, sign, table, None, None)
        columns.get(rule, sign, table, None, None)
        assert len(columns._columns) <= 100

    computed = columns.rows_recomputed
    columns.get(rule, 999, table, None, None)
    assert columns.rows_recomputed == computed
    assert columns._bytes == 8 * len(columns._columns)
