"""`python -m tests.chaos`: runs from seeds; ends with 1 where anything was violated."""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.run import run
from tests.integration.control_plane import MISSING, assets


def main() -> int:
    options = _options()
    programs = assets()
    if programs is None:
        print(MISSING)
        return 2
    started, totals = time.monotonic(), Counter[str]()
    for seed in range(options.seed, options.seed + options.runs):
        home = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
        report = run(programs, home, seed, options.seconds)
        print(report.text(), flush=True)
        totals.update(report.did)
        totals.update(binds=report.checker.binds, faults=len(report.faults), runs=1)
        totals.update(violations=len(report.violations), failed=bool(report.violations))
        if not report.violations:
            shutil.rmtree(home)
    print(
        f"{totals['runs']} runs, {totals['failed']} with violations ({totals['violations']}); "
        f"{totals['binds']} binds, {totals['faults']} faults, "
        f"{totals['lost bind reply']} lost bind replies; {time.monotonic() - started:.0f} s"
    )
    return 1 if totals["failed"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--runs", type=int, default=1, help="how many seeds, one after the other")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long faults go on")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
