"""Records of attempts: bounded, by pod, in order, and complete enough to explain."""

import asyncio
import tracemalloc

import msgspec
import pytest

from moorage.observe.decision_records import DecisionRecord, DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.records import Attempt, Bound, Result
from moorage.serve.decisions import DecisionFilter, DecisionPages
from moorage.testing import node, pod
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile


def attempt(pod: str, number: int = 1, result: Result = Result.SCHEDULED) -> Attempt:
    placed = result is Result.SCHEDULED
    return Attempt(
        id=f"{number:x}",
        pod=f"default/{pod}",
        uid=f"uid-{pod}",
        profile="default-scheduler",
        result=result,
        time=1_800_000_000.5 + number,
        seconds=0.000_25,
        node="node-1" if placed else "",
        score=120 if placed else 0,
        scores=(("NodeResourcesFit", 80), ("ImageLocality", 40)) if placed else (),
        feasible=3 if placed else 0,
        evaluated=5,
        attempts=number,
        message="" if placed else "0/5 nodes are available: 5 Insufficient cpu.",
        runners_up=RUNNERS_UP if placed else (),
        steps=(("Filter", "Success", 5.0, 0.000_2), ("Score", "Success", 5.1, 0.000_05)),
        generation=2,
    )


RUNNERS_UP = (
    ("node-2", (("NodeResourcesFit", 70), ("ImageLocality", 40))),
    ("node-3", (("NodeResourcesFit", 70), ("ImageLocality", 0))),
)


def bound(pod: str, number: int = 1) -> Bound:
    return Bound(
        attempt=f"{number:x}",
        pod=f"default/{pod}",
        uid=f"uid-{pod}",
        profile="default-scheduler",
        node="node-1",
        time=1_800_000_000.6,
        attempts=1,
        since_added=1.0,
        seconds=0.004,
        steps=(("Score", "Success", 5.1, 0.000_05), ("Bind", "Success", 5.2, 0.003_5)),
    )


def filled(count: int, **terms: int) -> DecisionRecords:
    records = DecisionRecords(**terms)
    for number in range(1, count + 1):
        records.attempted(attempt(f"p{number}", number))
    return records


def test_a_record_says_what_the_attempt_said() -> None:
    (record,) = filled(1).of_pod("default/p1")

    assert record == DecisionRecord(
        number=1,
        attempt="1",
        pod="default/p1",
        profile="default-scheduler",
        result="scheduled",
        time=1_800_000_001.5,
        ms=0.25,
        attempts=1,
        node="node-1",
        score=120,
        scores={"NodeResourcesFit": 80, "ImageLocality": 40},
        runners_up={
            "node-2": {"NodeResourcesFit": 70, "ImageLocality": 40},
            "node-3": {"NodeResourcesFit": 70, "ImageLocality": 0},
        },
        steps={"Filter": 0.2, "Score": 0.05},
        feasible=3,
        evaluated=5,
        generation=2,
    )


def test_a_record_says_when_its_pod_was_bound() -> None:
    records = filled(3)
    records.bound(bound("p2"))
    records.bound(bound("nobody"))
    first, second, _ = records.since(0)

    assert (second.bound_ms, second.steps["Bind"]) == (4.0, 3.5)
    assert (first.bound_ms, "Bind" in first.steps) == (0.0, False)
    for number in range(4, 8):
        records.attempted(attempt("p2", number, Result.UNSCHEDULABLE))
    assert [each.bound_ms for each in records.of_pod("default/p2")] == [4.0, 0, 0, 0, 0]


def test_the_oldest_are_forgotten_first() -> None:
    records = filled(10, capacity=4)

    assert len(records) == 4
    assert [each.number for each in records.since(0)] == [7, 8, 9, 10]
    assert records.of_pod("default/p6") == []
    assert len(records.of_pod("default/p7")) == 1


def test_a_pod_that_fails_over_and_over_pushes_nobody_out() -> None:
    records = DecisionRecords(capacity=10, per_pod=3)
    records.attempted(attempt("quiet"))
    for number in range(2, 100):
        records.attempted(attempt("loud", number, Result.UNSCHEDULABLE))

    assert len(records.of_pod("default/quiet")) == 1
    assert [each.attempts for each in records.of_pod("default/loud")] == [97, 98, 99]
    assert records.of_pod("default/loud")[0].message.endswith("Insufficient cpu.")


def test_records_of_many_pods_stay_within_three_hundred_bytes_each() -> None:
    filled(1)
    tracemalloc.start()
    records = filled(5000)
    measured = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert len(records) == 5000
    assert 0.8 * measured <= records.bytes_used <= 1.2 * measured
    assert records.bytes_used / len(records) <= 300


def test_outlines_say_what_the_records_say_and_steps_where_no_time_passed() -> None:
    records = DecisionRecords(capacity=4)
    for number, result in enumerate((*Result, Result.SCHEDULED), 1):
        records.attempted(attempt(f"p{number}", number, result))
    records.attempted(msgspec.structs.replace(attempt("virtual", 9), seconds=0.0))

    found = records.outlines(records.count - 3)

    kept = list(records.since(records.count - 3))
    assert found.numbers.tolist() == [each.number for each in kept]
    assert found.times.tolist() == [each.time for each in kept]
    assert found.placed.tolist() == [each.result == "scheduled" for each in kept]
    assert found.ms.tolist() == [0.25, 0.25, 0.25]
    assert [each.ms for each in kept] == [0.25, 0.25, 0.0]


def test_pages_go_on_where_the_last_one_ended() -> None:
    pages = DecisionPages(filled(5))
    first = pages.page(DecisionFilter(limit=3))
    second = pages.page(DecisionFilter.of({"limit": "3", "continue": str(first["continue"])}))

    assert [each.number for each in first["items"]] == [1, 2, 3]  # type: ignore[attr-defined]
    assert [each.number for each in second["items"]] == [4, 5]  # type: ignore[attr-defined]
    assert second["continue"] == ""


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ({"pod": "default/p2"}, [2]),
        ({"namespace": "default"}, [1, 2, 3]),
        ({"namespace": "other"}, []),
        ({"result": "unschedulable"}, []),
        ({"node": "node-1", "since": "2"}, [3]),
    ],
)
def test_records_are_filtered(query: dict[str, str], want: list[int]) -> None:
    found = DecisionPages(filled(3)).page(DecisionFilter.of(query))["items"]

    assert [each.number for each in found] == want  # type: ignore[attr-defined]


def test_whoever_waits_for_more_is_told() -> None:
    async def main() -> bool:
        records = DecisionRecords()
        waiting = asyncio.ensure_future(records.more())
        await asyncio.sleep(0)
        assert not waiting.done()
        records.attempted(attempt("p"))
        await asyncio.wait_for(waiting, 1)
        return True

    assert asyncio.run(main())


def test_a_scheduler_tells_the_next_best_nodes_and_the_times_of_its_steps() -> None:
    records = DecisionRecords()

    async def story(world: ChangingWorld) -> None:
        world.scheduler.observers.add(Metrics())
        world.scheduler.observers.add(records)
        for number in range(3):
            world.apply(pod(f"p{number}").requesting(cpu="1"))
            await world.clock.sleep(1)

    nodes = [
        node(name).offering(cpu=cores) for name, cores in (("a", "8"), ("b", "9"), ("c", "10"))
    ]
    ChangingWorld(*nodes, config=configuration(profile("default-scheduler"))).run(story)

    for record in records.since(0):
        assert set(record.runners_up) == {*"abc"} - {record.node}
        best, *others = record.scores, *record.runners_up.values()
        assert sum(best.values()) == record.score >= max(sum(each.values()) for each in others)
        assert {"PreFilter", "Filter", "Score", "Bind"} <= record.steps.keys()


@pytest.mark.parametrize("name", ["continue", "since", "limit"])
def test_what_is_no_number_is_named_as_it_was_asked(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}=soon: not a number$"):
        DecisionFilter.of({name: "soon"})
