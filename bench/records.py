"""What decision records cost: bytes for each, and their part of the time that a pod takes.

.venv/bin/python bench/records.py [--nodes 1000] [--pods 5000] [--kind basic] [--runs 5]

Prints one JSON line. A hundred pods are decided on and assumed, then their records are kept, then
the next hundred: both by the CPU time of this thread, which other work on the machine adds little
to. Of the runs the median counts. Finding the runners-up is part of an attempt; it counts as often
as it is done at full speed. Queue, binding and reports, which a running scheduler has beside, are
left out.
"""

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from moorage.app.built_in_plugins import built_in
from moorage.app.inputs import read_configuration
from moorage.app.profile_builder import build_profiles
from moorage.bench.throughput import prepare
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.framework.cycle import Cycle
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.records import Attempt, Bound, Result

BLOCK = 100
Decided = tuple[int, Cycle, Decision]


class Timed:
    """A function, and the nanoseconds of CPU of all calls of it that found something."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.taken = self.calls = 0

    def __call__(self, *given: Any) -> Any:
        begun = time.thread_time_ns()
        found = self.function(*given)
        if found:
            self.taken += time.thread_time_ns() - begun
            self.calls += 1
        return found


class Costs(NamedTuple):
    """Microseconds for one pod."""

    decision: float
    record: float
    runners_up: float

    @property
    def part(self) -> float:
        return (self.record + self.runners_up) / (self.decision + self.record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--kind", default="basic")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    size = (given.kind, given.nodes, given.pods)
    costs = sorted((costs_of(*size) for _ in range(given.runs)), key=lambda each: each.part)
    middle = costs[len(costs) // 2]
    line = {
        "kind": given.kind,
        "nodes": given.nodes,
        "records": given.pods,
        "bytes_each": round(bytes_of(*size), 1),
        "record_us": round(middle.record, 2),
        "runners_up_us": round(middle.runners_up, 2),
        "pod_us": round(middle.decision, 2),
        "part_percent": round(100 * middle.part, 2),
        "least_percent": round(100 * costs[0].part, 2),
        "most_percent": round(100 * costs[-1].part, 2),
    }
    print(json.dumps(line))


def costs_of(kind: str, nodes: int, pods: int) -> Costs:
    """Blocks of decisions and blocks of records, in turn."""
    beside = Timed(attempt._runners_up)
    attempt._runners_up = beside
    records, told_of = DecisionRecords(pods), 0
    decide, remember = Timed(decider(kind, nodes, pods)), Timed(keep)
    while decided := decide(BLOCK):
        told = [told_as(*each) for each in decided]
        remember(records, told)
        told_of += len(told)
    attempt._runners_up = beside.function
    decision, record = (each.taken / told_of / 1000 for each in (decide, remember))
    share = decision / (attempt.RUNNERS_UP_SECONDS * 1e6)
    return Costs(decision, record, beside.taken / beside.calls / 1000 * share)


def keep(records: DecisionRecords, told: list[tuple[Attempt, Bound]]) -> int:
    for each, later in told:
        records.attempted(each)
        records.bound(later)
    return len(records)


def bytes_of(kind: str, nodes: int, pods: int) -> float:
    """Memory for each record, its index included."""
    told = [told_as(*each) for each in decider(kind, nodes, pods)(pods)]
    records = DecisionRecords(pods)
    tracemalloc.start()
    keep(records, told)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(records)


def decider(kind: str, nodes: int, pods: int) -> Callable[[int], list[Decided]]:
    """Decides about so many pods and assumes them, as a scheduler does that is timed."""
    known = built_in()
    profiles = build_profiles(read_configuration(None, known).configuration, known)
    bench = prepare(kind, nodes, pods, profiles)
    timers, waiting = Metrics(), enumerate(bench.pods)

    def decide(count: int) -> list[Decided]:
        found = []
        for number, pod in islice(waiting, count):
            cycle = Cycle(
                bench.cache,
                bench.cache.info(pod),
                shared=bench.profile.shared,
                now=time.perf_counter(),
                attempt=f"{number:x}",
                timer=timers.timer("default-scheduler"),
            )
            decision = attempt.run(bench.profile, cycle)
            if isinstance(decision, Decision):
                bench.cache.assume(cycle.incoming, decision.node)
                found.append((number, cycle, decision))
        return found

    return decide


def told_as(number: int, cycle: Cycle, decision: Decision) -> tuple[Attempt, Bound]:
    told = attempt_of(number, cycle, decision)
    return told, bound(told)


def bound(each: Attempt) -> Bound:
    """The pod was bound, a few milliseconds later."""
    return Bound(
        attempt=each.id,
        pod=each.pod,
        uid=each.uid,
        profile=each.profile,
        node=each.node,
        time=each.time,
        attempts=1,
        since_added=0.01,
        seconds=0.004,
        steps=(*each.steps, ("Bind", "Success", each.time, 0.003)),
    )


def attempt_of(number: int, cycle: Cycle, decision: Decision) -> Attempt:
    return Attempt(
        id=f"{number:x}",
        pod=cycle.pod.key,
        uid=cycle.pod.uid,
        profile="default-scheduler",
        result=Result.SCHEDULED,
        time=1.8e9 + number / 1000,
        seconds=0.0003,
        node=decision.node,
        score=decision.score,
        feasible=decision.feasible,
        evaluated=decision.evaluated,
        scores=decision.parts,
        runners_up=decision.runners_up,
        steps=tuple(cycle.timer.trace),
        generation=1,
    )


if __name__ == "__main__":
    main()
