"""What is run first, what is run again, and when others had use of the machine."""

import sys
from pathlib import Path

import pytest

from bench.perf import cases, kept, module, plan
from bench.perf.__main__ import main
from bench.perf.cases import Workload, with_fewer_pods
from bench.perf.contention import Contention, Usage, usage

SCHEDULERS = ("kube-scheduler", "moorage")


def workload(topic: str, case: str, nodes: int, pods: int, label: str = "performance") -> Workload:
    return Workload(
        topic=topic,
        case=case,
        name=f"{nodes}Nodes_{pods}Pods",
        folder=Path(),
        labels=frozenset([label]),
        gates={},
        operations=(
            {"opcode": "createNodes", "count": nodes},
            {"opcode": "createPods", "count": pods, "collectMetrics": True},
        ),
        threshold=0.0,
        threshold_of="",
        scheduler_config=None,
    )


def test_topics_take_turns_and_the_most_telling_size_of_a_case_comes_first() -> None:
    small = workload("misc", "Basic", 5, 10, "integration-test")
    large, larger = workload("misc", "Basic", 5000, 1000), workload("misc", "Basic", 5000, 10_000)
    gated, spread = workload("misc", "Gated", 10, 200), workload("topology", "Spread", 5000, 2000)
    few, shared = workload("dra/a", "Slices", 5000, 0), workload("dra/b", "Shared", 500, 1000)

    order = plan.in_order([few, small, larger, large, gated, spread, shared])

    assert order == [large, spread, shared, gated, few, larger, small]


def test_nothing_is_begun_that_would_end_too_late() -> None:
    now = 0.0
    budget = plan.Budget(2.0, lambda: now)

    assert budget.has_room(120.0)
    now = 60.0
    assert not budget.has_room(61.0)
    assert budget.has_room(60.0)
    assert str(budget) == "1.0 of 2 min"
    assert plan.Budget(0.0, lambda: now).has_room(1e9)


def test_who_decides_nothing_is_tried_where_nobody_has_to_wait() -> None:
    waiting = ("EventHandlingPodAdd", "StarvationPodGroup", "GangPreemptionPodGroups")
    at_once = ("SchedulingBasic", "Unschedulable", "PreemptionBasic", "GangPreemptionBasic")

    assert all(plan.binds_at_once(workload("misc", case, 5, 10)) for case in at_once)
    assert not any(plan.binds_at_once(workload("misc", case, 5, 10)) for case in waiting)


def test_a_workload_takes_as_long_as_it_took_before() -> None:
    large = workload("misc", "Basic", 5000, 10_000)

    assert plan.expected_seconds(large, 40.0) == 40.0
    assert plan.expected_seconds(large) > plan.expected_seconds(workload("misc", "Basic", 5, 5))


def test_what_is_kept_is_kept_for_each_scheduler(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    kept.keep({"case": "A/1", "kube-scheduler": {"average": 1.0, "seconds": 9.0}}, file)
    kept.keep({"case": "A/1", "moorage": {"fault": "not done"}}, file)
    kept.keep({"case": "B/1", "moorage": {"average": 2.0, "others": 0.5}}, file)
    rows = {row["case"]: row for row in kept.rows(file)}

    assert kept.missing(rows["A/1"], SCHEDULERS) == ["moorage"]
    assert kept.missing(rows["B/1"], SCHEDULERS) == ["kube-scheduler", "moorage"]
    assert kept.missing(None, SCHEDULERS) == ["kube-scheduler", "moorage"]
    assert kept.seconds(rows["A/1"], "kube-scheduler") == 9.0
    assert kept.seconds(rows["A/1"], "moorage") is None


def test_a_short_workload_is_run_several_times_and_the_middle_one_told() -> None:
    assert [plan.rounds(workload("misc", "Basic", 5, pods)) for pods in (20, 120, 5000)] == [
        1,
        5,
        1,
    ]
    runs = [{"overall": overall, "cpu_per_pod": overall / 10} for overall in (90.0, 40.0, 70.0)]

    assert kept.middle(runs[:1]) == runs[0]
    assert kept.middle(runs[:2])["overall"] == 40.0
    assert kept.middle(runs) == {
        "overall": 70.0,
        "cpu_per_pod": 7.0,
        "of_runs": [40.0, 70.0, 90.0],
    }


def test_a_run_that_failed_is_told_however_many_did_not() -> None:
    assert kept.middle([{"overall": 1.0}, {"fault": "timeout"}, {"overall": 2.0}]) == {
        "fault": "timeout"
    }


def test_fewer_pods_are_measured_and_the_name_says_so() -> None:
    large = workload("misc", "Basic", 5000, 10_000)

    assert with_fewer_pods(large, 1000).key == "Basic/5000Nodes_10000Pods (1,000 pods)"
    assert with_fewer_pods(large, 1000).pods == 1000
    assert with_fewer_pods(large, 0) is large
    assert with_fewer_pods(large, 20_000) is large
    grouped = large._replace(operations=({"opcode": "createPodGroups"}, *large.operations))
    assert with_fewer_pods(grouped, 1000) is grouped, "its groups would never be whole"


def test_others_have_what_is_used_and_is_not_ours() -> None:
    told = iter([Usage(100.0, 10.0, 5.0), Usage(140.0, 34.0, 19.0)])

    assert Contention(lambda: next(told)).others() == 0.25


def test_the_machine_counts_what_we_use_ourselves() -> None:
    before = usage()
    while usage().own - before.own < 0.05:
        pass
    after = usage()

    assert after.used - before.used >= 0.03
    assert after.offered > before.offered


def test_a_selection_of_nothing_is_an_error_that_says_what_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a Makefile `$` has to be written twice; and nobody reads `0 of 0`."""
    monkeypatch.setattr(module, "scheduler_perf", Path)
    monkeypatch.setattr(cases, "read", lambda folder: [workload("misc", "Basic", 5, 10)])
    monkeypatch.setattr(sys, "argv", ["bench.perf", "--case", "Nothing", "--label", "short"])

    with pytest.raises(SystemExit, match="no workload is like that: --case 'Nothing', short"):
        main()
