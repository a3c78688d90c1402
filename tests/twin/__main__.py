"""`python -m tests.twin`: many stories, on all cores; what breaks is shrunk and told.

make twin RUNS=200 SEED=1              a summary, and the fewest steps of what broke
python -m tests.twin --mutants         every safeguard taken out in turn must be found
"""

import argparse
import concurrent.futures
import sys
import time
from collections import Counter

from tests.twin.mutants import MUTANTS
from tests.twin.shrinking import shrink
from tests.twin.story import Story, draw
from tests.twin.twin import Outcome, run


def one(seed: int, steps: int) -> tuple[int, Outcome]:
    return seed, run(draw(seed, steps))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first story")
    parser.add_argument("--runs", type=int, default=20, help="how many stories")
    parser.add_argument("--steps", type=int, default=200, help="steps of each")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--mutants", action="store_true", help="take out a safeguard at a time")
    given = parser.parse_args()
    if given.mutants:
        return _mutants(given.seed, given.runs, given.steps)
    return _stories(range(given.seed, given.seed + given.runs), given.steps, given.workers)


def _stories(seeds: range, steps: int, workers: int) -> int:
    began, broken, faults, binds, done = time.monotonic(), 0, Counter[str](), 0, 0
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        for task in [pool.submit(one, seed, steps) for seed in seeds]:
            seed, outcome = task.result()
            faults += outcome.faults
            binds, done = binds + outcome.binds, done + outcome.fault_steps
            if outcome.violations:
                broken += 1
                _tell(seed, steps, outcome)
    seconds = time.monotonic() - began
    print(f"{len(seeds)} stories, {done} fault steps, {binds} binds, {seconds:.0f} s")
    print(", ".join(f"{kind} {count}" for kind, count in faults.most_common()))
    print(f"{len(seeds) - broken} passed, {broken} failed")
    return min(broken, 1)


def _tell(seed: int, steps: int, outcome: Outcome) -> None:
    print(f"story {seed} of {steps} steps broke:", *outcome.violations, sep="\n  ")
    shortest = shrink(draw(seed, steps), lambda story: bool(run(story).violations))
    print(f"  the fewest steps that break it, {len(shortest.steps)}:", file=sys.stderr)
    _print(shortest)


def _print(story: Story) -> None:
    for step in story.steps:
        print(f"    {step}")


def _mutants(first: int, runs: int, steps: int) -> int:
    missed = 0
    for name, mutant in MUTANTS.items():
        found = next((s for s in range(first, first + runs) if _finds(mutant, s, steps)), None)
        print(f"{name}: " + ("NOT FOUND" if found is None else f"found by story {found}"))
        missed += found is None
    return min(missed, 1)


def _finds(mutant: object, seed: int, steps: int) -> bool:
    assert callable(mutant)
    with mutant():
        return bool(run(draw(seed, steps)).violations)


if __name__ == "__main__":
    sys.exit(main())
