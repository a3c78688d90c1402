"""Records of attempts: bounded, by pod, in order, and complete enough to explain."""

import asyncio

import pytest

from moorage.observe.decision_records import DecisionRecord, DecisionRecords
from moorage.observe.records import Attempt, Result
from moorage.serve.decisions import DecisionFilter, DecisionPages


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
        generation=2,
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
        feasible=3,
        evaluated=5,
        generation=2,
    )


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
    records = filled(5000)

    assert records.bytes_used / len(records) <= 300


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
