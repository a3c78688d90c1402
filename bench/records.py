"""What decision records cost: bytes for each, and their part of the time that a pod takes.

.venv/bin/python bench/records.py [--nodes 1000] [--pods 5000] [--kind basic]     one JSON line

Times are those that three of four exceed: on a busy machine the others are of its other work.
Finding the runners-up is part of an attempt; it counts as often as it is done at full speed.
"""

import argparse
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from statistics import quantiles
from typing import Any

from moorage.api.pod import Pod
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


class Timed:
    """A function, and the microseconds of each call of it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.taken: list[float] = []

    def __call__(self, *given: Any) -> Any:
        begun = time.perf_counter()
        found = self._function(*given)
        self.taken.append((time.perf_counter() - begun) * 1e6)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--kind", default="basic")
    given = parser.parse_args()
    beside = Timed(attempt._runners_up)
    attempt._runners_up = beside
    told, taken = decided(given.kind, given.nodes, given.pods)
    records = DecisionRecords(len(told))
    tracemalloc.start()
    for each in told:
        records.attempted(each)
        records.bound(bound(each))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    again = DecisionRecords(len(told))
    attempted, at_binding = Timed(again.attempted), Timed(again.bound)
    for each in told:
        attempted(each)
        at_binding(bound(each))
    found = [each for each, told_of in zip(beside.taken, told, strict=False) if told_of.runners_up]
    pod = quiet(taken)
    record = quiet(attempted.taken) + quiet(at_binding.taken)
    runners_up = quiet(found) * pod / (attempt.RUNNERS_UP_SECONDS * 1e6)
    print(
        json.dumps(
            {
                "kind": given.kind,
                "nodes": given.nodes,
                "records": len(records),
                "bytes_each": round(size / len(records), 1),
                "record_us": round(record, 2),
                "runners_up_us": round(runners_up, 2),
                "pod_us": round(pod, 2),
                "part_percent": round(100 * (record + runners_up) / pod, 2),
            }
        )
    )


def quiet(taken: list[float]) -> float:
    """What three of four exceed."""
    return quantiles(taken, n=4)[0]


def decided(kind: str, nodes: int, pods: int) -> tuple[list[Attempt], list[float]]:
    """Decide about every pod and assume it, as a scheduler does that is timed; microseconds."""
    known = built_in()
    profiles = build_profiles(read_configuration(None, known).configuration, known)
    bench = prepare(kind, nodes, pods, profiles)
    rng, timers, told = random.Random(0), Metrics(), list[Attempt]()

    def schedule(number: int, pod: Pod) -> tuple[Cycle, Any]:
        cycle = Cycle(
            bench.cache,
            bench.cache.info(pod),
            random=rng,
            shared=bench.profile.shared,
            now=time.perf_counter(),
            attempt=f"{number:x}",
            timer=timers.timer("default-scheduler"),
        )
        decision = attempt.run(bench.profile, cycle)
        if isinstance(decision, Decision):
            bench.cache.assume(cycle.incoming, decision.node)
        return cycle, decision

    timed = Timed(schedule)
    for number, pod in enumerate(bench.pods):
        cycle, decision = timed(number, pod)
        if isinstance(decision, Decision):
            told.append(attempt_of(number, cycle, decision))
    return told, timed.taken


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
