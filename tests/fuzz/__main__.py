"""`python -m tests.fuzz`: so many inputs, on all cores, with progress and totals."""

import argparse
import logging
import multiprocessing
import os
import sys
import time
from typing import Final

from tests.fuzz import cluster_batch, config_batch, hostile_batch
from tests.fuzz.findings import Findings

BATCH: Final = 200
REPORT_SECONDS: Final = 10.0


RUNS: Final = {
    "objects": cluster_batch.run,
    "hostile": hostile_batch.run,
    "configurations": config_batch.run,
}
TURNS: Final = ("objects", "hostile", "objects", "hostile", "configurations")
"""What batches are of, one after the other, unless one of them is chosen."""


def play(job: tuple[str, int, int, int]) -> Findings:
    """One batch."""
    only, seed, batch, count = job
    logging.getLogger("moorage").propagate = False
    return RUNS[only or TURNS[batch % len(TURNS)]](seed, batch, count)


def main() -> int:
    options = _options()
    batches = range(options.first, options.first + -(-options.inputs // BATCH))
    count = min(BATCH, options.inputs)
    jobs = [(options.only, options.seed, batch, count) for batch in batches]
    total, began = Findings(), time.monotonic()
    said = began
    with multiprocessing.Pool(options.workers, maxtasksperchild=200) as pool:
        for done in pool.imap_unordered(play, jobs):
            for key in done.found.keys() - total.found.keys():
                print(f"found: {done.found[key]}", file=sys.stderr, flush=True)
            total.merge(done)
            now = time.monotonic()
            if now - said > REPORT_SECONDS:
                said = now
                print(_line(total, now - began), file=sys.stderr, flush=True)
            if options.seconds and now - began > options.seconds:
                pool.terminate()
                break
    print(_line(total, time.monotonic() - began))
    for line in total.lines():
        print(line)
    return 1 if total.found else 0


def _line(total: Findings, seconds: float) -> str:
    refused = ", ".join(f"{name} {count}" for name, count in sorted(total.refused.items()))
    return (
        f"{total.inputs} inputs in {seconds:.0f} s ({total.inputs / seconds:.0f}/s): "
        f"{total.attempts} attempts, {total.bound} bound; refused: {refused}; "
        f"{sum(total.times.values())} findings at {len(total.found)} places"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first batch")
    parser.add_argument("--only", choices=RUNS, default="", help="no other inputs than these")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
