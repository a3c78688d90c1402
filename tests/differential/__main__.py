"""`python -m tests.differential`: random cases through kube-scheduler and through Moorage."""

import argparse
import sys
import time
from pathlib import Path

from tests.differential import reporting, running
from tests.differential.features import FEATURES
from tests.differential.kept import Kept
from tests.differential.oracle import PROGRAM, ROOT, Oracle
from tests.differential.ours import Ours
from tests.differential.running import Tally


def main() -> int:
    options = _options()
    among = _features(options.features)
    if not PROGRAM.exists():
        print("kube-scheduler's decisions are not to be had: run `make oracle` first (needs Go)")
        return 2
    started = time.monotonic()

    def progress(done: int) -> None:
        rate = done / (time.monotonic() - started)
        print(f"\r{done} of {options.cases} cases, {rate:.0f}/s ", end="", file=sys.stderr)

    tally = Tally(options.examples)
    numbers = range(options.first, options.first + options.cases)
    with Oracle() as oracle:
        ours = Kept() if options.kept else Ours()
        drawn = running.chunks(options.seed, numbers, among, options.small)
        running.run(drawn, oracle, ours, tally, progress)
        print(file=sys.stderr)
        for line in reporting.summary(tally):
            print(line)
        for line in reporting.shrunk(tally, oracle, ours, options.out):
            print(line, flush=True)
    return 0 if reporting.is_good(tally) else 1


def _features(text: str) -> tuple[str, ...]:
    """`all`, names to draw from, or names with a minus to leave out of all."""
    names = [name for name in text.split(",") if name]
    unknown = {name.lstrip("-") for name in names} - {*FEATURES, "all"}
    if unknown:
        known = ", ".join(FEATURES)
        raise SystemExit(f"no such feature: {', '.join(sorted(unknown))}. Known: {known}")
    left_out = {name[1:] for name in names if name.startswith("-")}
    wanted = {name for name in names if not name.startswith("-")} - {"all"}
    return tuple(name for name in FEATURES if name not in left_out and name in (wanted or FEATURES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--features", default="all", help="comma-separated; -name leaves one out")
    parser.add_argument("--small", action="store_true", help="few nodes and pods a case")
    parser.add_argument("--kept", action="store_true", help="decide from state that was kept")
    parser.add_argument("--examples", type=int, default=1, help="cases to shrink per difference")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "differential")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
