"""The work of an attempt, counted: a regression to scanning nodes or pods fails without a clock."""

import sys
from types import FrameType
from typing import Any

import pytest

from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.bench import throughput
from moorage.config.loader import default_configuration

WARM_UP, COUNTED = 60, 40


def prepared(kind: str, nodes: int) -> throughput.Bench:
    known = built_in_plugins.built_in()
    profiles = build_profiles(
        default_configuration(built_in_plugins.describe_plugins(known)), known
    )
    bench = throughput.prepare(kind, nodes, WARM_UP + COUNTED, profiles)
    for pod in bench.pods:
        bench.queue.add(bench.cache.info(pod), 0.0)
    return bench


def calls_per_attempt(kind: str, nodes: int) -> float:
    """Python and C calls of one attempt, once everything is warm."""
    bench, calls = prepared(kind, nodes), 0
    for _ in range(WARM_UP):
        throughput.decide(bench)

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        for _ in range(COUNTED):
            throughput.decide(bench)
    finally:
        sys.setprofile(None)
    return calls / COUNTED


@pytest.mark.parametrize("kind", ["basic", "varied", "spread", "antiaffinity", "affinity", "gpu"])
def test_calls_do_not_grow_with_nodes(kind: str) -> None:
    few, many = calls_per_attempt(kind, 60), calls_per_attempt(kind, 600)

    assert many < 1.15 * few + 20


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        pytest.param("basic", 300, id="a pod like the last one, by what was found for that"),
        pytest.param("varied", 750, id="a pod unlike all others"),
        pytest.param("spread", 950, id="a pod that is spread"),
        pytest.param("antiaffinity", 950, id="a pod that keeps its distance"),
        pytest.param("affinity", 950, id="a pod that seeks company"),
    ],
)
def test_an_attempt_stays_within_its_budget_of_calls(kind: str, most: int) -> None:
    assert calls_per_attempt(kind, 200) < most


def test_equal_pods_recompute_the_rows_that_changed_and_no_others() -> None:
    bench = prepared("basic", 500)
    for _ in range(WARM_UP):
        throughput.decide(bench)
    before = bench.profile.columns.rows_recomputed

    for _ in range(COUNTED):
        throughput.decide(bench)

    assert (bench.profile.columns.rows_recomputed - before) / COUNTED <= 6
