"""Evicted pods are told: who, from where, for whom, and how many."""

import json

import msgspec

from moorage.simulate.simulation_report import build_report
from moorage.testing import node, pod
from tests.unit.simulate.embedded_runs import places, run


def test_victims_are_kept_with_whoever_needed_their_room() -> None:
    low = [pod(f"low-{i}").requesting(cpu="1").prioritised(1).on("a") for i in range(2)]
    ended = run(
        node("a").offering(cpu="2"), *low, pod("high").requesting(cpu="2").prioritised(1000)
    )

    assert places(ended) == {"high": "a"}
    evictions = build_report(ended).evictions
    assert {each.name for each in evictions} == {"low-0", "low-1"}
    assert {(e.by, e.node, e.reason, e.priority) for e in evictions} == {
        ("Pod default/high", "a", "PreemptionByScheduler", 1)
    }


def test_the_json_report_has_them() -> None:
    ended = run(
        node("a").offering(cpu="1"),
        pod("low").requesting(cpu="1").prioritised(1).on("a"),
        pod("high").requesting(cpu="1").prioritised(1000),
    )

    data = json.loads(msgspec.json.encode(build_report(ended)))

    assert [(e["name"], e["by"]) for e in data["evictions"]] == [("low", "Pod default/high")]


def test_a_run_without_victims_tells_of_none() -> None:
    assert build_report(run(node("a"), pod("one"))).evictions == ()
