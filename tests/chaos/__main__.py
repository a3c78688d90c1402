"""`python -m tests.chaos`: runs from seeds; ends with 1 where anything was violated."""

import argparse
import concurrent.futures
import json
import sys
import time
from collections import Counter
from pathlib import Path

from tests.chaos.run import SETTLE_SECONDS
from tests.chaos.seed_run import Run, play
from tests.integration.control_plane import MISSING, assets


def main() -> int:
    options = _options()
    programs = assets()
    if programs is None:
        print(MISSING)
        return 2
    started, runs = time.monotonic(), list[Run]()
    seeds = range(options.seed, options.seed + options.runs)
    with concurrent.futures.ProcessPoolExecutor(options.parallel, max_tasks_per_child=1) as pool:
        lasts = (options.seconds, options.patience)
        tasks = [pool.submit(play, programs, seed, *lasts) for seed in seeds]
        for task in concurrent.futures.as_completed(tasks):
            done = task.result()
            runs.append(done)
            print(done.text, flush=True)
            if options.results:
                _keep(options.results, done, options.seconds)
    print(_summary(runs, time.monotonic() - started))
    return 1 if any(done.violations for done in runs) else 0


def _keep(file: Path, done: Run, seconds: float) -> None:
    """One line of JSON for each run, added to those of others."""
    line = {"seed": done.seed, "seconds": seconds, "violations": done.violations, **done.counts}
    with file.open("a") as results:
        results.write(json.dumps(line) + "\n")


def _summary(runs: list[Run], seconds: float) -> str:
    totals = sum((done.counts for done in runs), Counter[str]())
    failed = sum(bool(done.violations) for done in runs)
    return (
        f"{len(runs)} runs, {failed} with violations ({sum(done.violations for done in runs)}); "
        f"{totals['binds']} binds, {totals['faults']} faults, "
        f"{totals['lost bind reply']} lost bind replies; {seconds:.0f} s"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--runs", type=int, default=1, help="how many seeds")
    parser.add_argument("--parallel", type=int, default=1, help="how many of them at a time")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long faults go on")
    parser.add_argument(
        "--patience", type=float, default=SETTLE_SECONDS, help="how long all may take to settle"
    )
    parser.add_argument("--results", type=Path, help="a file that gets a line of JSON for each run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
