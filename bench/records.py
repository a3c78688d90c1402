"""What decision records cost: bytes for each, and the part of a decision's time.

.venv/bin/python bench/records.py [--nodes 1000] [--pods 5000] [--kind basic]     one JSON line
"""

import argparse
import json
import random
import time
import tracemalloc

from moorage.app.built_in_plugins import built_in
from moorage.app.inputs import read_configuration
from moorage.app.profile_builder import build_profiles
from moorage.bench.throughput import prepare
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.framework.cycle import Cycle
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.records import Attempt, Result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--kind", default="basic")
    given = parser.parse_args()
    known = built_in()
    profiles = build_profiles(read_configuration(None, known).configuration, known)
    bench = prepare(given.kind, given.nodes, given.pods, profiles)
    rng, deciding, told = random.Random(0), 0.0, []
    for number, pod in enumerate(bench.pods):
        cycle = Cycle(bench.cache, bench.cache.info(pod), random=rng, shared=bench.profile.shared)
        begun = time.perf_counter()
        decided = attempt.run(bench.profile, cycle)
        deciding += time.perf_counter() - begun
        if isinstance(decided, Decision):
            bench.cache.assume(cycle.incoming, decided.node)
            told.append(_attempt(number, cycle, decided))
    records = DecisionRecords(len(told))
    tracemalloc.start()
    for each in told:
        records.attempted(each)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    again = DecisionRecords(len(told))
    begun = time.perf_counter()
    for each in told:
        again.attempted(each)
    recording = time.perf_counter() - begun
    print(
        json.dumps(
            {
                "kind": given.kind,
                "nodes": given.nodes,
                "records": len(records),
                "bytes_each": round(size / len(records), 1),
                "record_us": round(1e6 * recording / len(told), 2),
                "decision_us": round(1e6 * deciding / given.pods, 2),
                "part_percent": round(100 * recording / deciding, 2),
            }
        )
    )


def _attempt(number: int, cycle: Cycle, decided: Decision) -> Attempt:
    return Attempt(
        id=f"{number:x}",
        pod=cycle.pod.key,
        uid=cycle.pod.uid,
        profile="default-scheduler",
        result=Result.SCHEDULED,
        time=1.8e9 + number / 1000,
        seconds=0.0003,
        node=decided.node,
        score=decided.score,
        feasible=decided.feasible,
        evaluated=decided.evaluated,
        scores=decided.parts,
        generation=1,
    )


if __name__ == "__main__":
    main()
