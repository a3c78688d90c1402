"""`python -m tests.twin`: many stories, on all cores; what breaks is shrunk and told.

make twin RUNS=200 SEED=1                   so many stories
make twin FAULT_STEPS=1000000               as many as it takes to so many fault steps
python -m tests.twin --mutants              every safeguard taken out in turn must be found

A fault step is a step of a story, or a fault that struck a request or an event meanwhile.
"""

import argparse
import gc
import itertools
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.twin.mutants import MUTANTS
from tests.twin.shrinking import shrink
from tests.twin.story import draw
from tests.twin.twin import Outcome, run

REPORT_SECONDS: Final = 10.0
GARBAGE: Final = 100_000
"""Stories leave cycles behind; they are looked for this rarely."""


class Played(NamedTuple):
    """A story's seed, how it ended, and what it took of a processor."""

    seed: int
    outcome: Outcome
    cpu_seconds: float


def play(job: tuple[int, int]) -> Played:
    seed, steps = job
    began = time.process_time()
    outcome = run(draw(seed, steps))
    return Played(seed, outcome, time.process_time() - began)


def _prepare() -> None:
    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 20)


class Sums:
    """What all stories so far have come to."""

    def __init__(self) -> None:
        self.began, self.cpu_seconds = time.monotonic(), 0.0
        self.stories = self.steps = self.fault_steps = self.binds = 0
        self.faults: Counter[str] = Counter()
        self.broken: list[int] = []

    def add(self, played: Played) -> None:
        seed, outcome, cpu_seconds = played
        self.cpu_seconds += cpu_seconds
        self.stories += 1
        self.steps += outcome.steps
        self.fault_steps += outcome.fault_steps
        self.binds += outcome.binds
        self.faults += outcome.faults
        if outcome.violations:
            self.broken.append(seed)
            print(f"story {seed} broke:", *outcome.violations, sep="\n  ", flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def line(self) -> str:
        return (
            f"{self.stories} stories, {self.fault_steps} fault steps ({self.steps} steps and "
            f"{self.faults.total()} faults that struck), {self.binds} binds, {self.seconds:.0f} s, "
            f"{self.fault_steps / max(self.cpu_seconds, 1e-9):.0f} fault steps for each second "
            f"of a processor, {len(self.broken)} broken"
        )


def main() -> int:
    options = _options()
    if options.mutants:
        return _mutants(options.seed, options.runs, options.steps)
    sums, told = Sums(), 0.0
    with multiprocessing.Pool(options.workers, _prepare, maxtasksperchild=200) as pool:
        jobs = ((seed, options.steps) for seed in _seeds(options))
        for played in _bounded(pool, jobs, options.workers):
            sums.add(played)
            if sums.seconds - told > REPORT_SECONDS:
                told = sums.seconds
                print(sums.line(), file=sys.stderr, flush=True)
            if _enough(options, sums):
                break
    print(sums.line())
    print(", ".join(f"{kind} {count}" for kind, count in sums.faults.most_common()))
    for seed in sums.broken[: options.shrink]:
        _tell(seed, options.steps)
    return 1 if sums.broken else 0


def _seeds(options: argparse.Namespace) -> Iterator[int]:
    open_ended = options.fault_steps or options.seconds
    return itertools.count(options.seed) if open_ended else _some(options.seed, options.runs)


def _some(first: int, count: int) -> Iterator[int]:
    return iter(range(first, first + count))


def _enough(options: argparse.Namespace, sums: Sums) -> bool:
    done = options.fault_steps and sums.fault_steps >= options.fault_steps
    return bool(done or (options.seconds and sums.seconds >= options.seconds))


def _bounded(
    pool: "multiprocessing.pool.Pool", jobs: Iterator[tuple[int, int]], workers: int
) -> Iterator[Played]:
    """Results in the order of the jobs, of which a few are under way at any time."""
    waiting = [pool.apply_async(play, (job,)) for job in itertools.islice(jobs, 4 * workers)]
    while waiting:
        yield waiting.pop(0).get()
        waiting += [pool.apply_async(play, (job,)) for job in itertools.islice(jobs, 1)]


def _tell(seed: int, steps: int) -> None:
    shortest = shrink(draw(seed, steps), lambda story: bool(run(story).violations))
    print(f"story {seed}: the fewest steps that break it, {len(shortest.steps)}:")
    for step in shortest.steps:
        print(f"    {step}")
    print("  and then:", *run(shortest).violations, sep="\n    ")


def _mutants(first: int, runs: int, steps: int) -> int:
    missed = 0
    for name, mutant in MUTANTS.items():
        with mutant():
            seeds = range(first, first + runs)
            found = next((s for s in seeds if run(draw(s, steps)).violations), None)
        print(f"{name}: " + ("NOT FOUND" if found is None else f"found by story {found}"))
        missed += found is None
    return min(missed, 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="twin", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first story")
    parser.add_argument("--runs", type=int, default=20, help="how many stories")
    parser.add_argument("--fault-steps", type=int, default=0, help="stop after so many")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--steps", type=int, default=200, help="steps of each story")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--shrink", type=int, default=3, help="how many broken ones to shorten")
    parser.add_argument("--mutants", action="store_true", help="take out a safeguard at a time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
