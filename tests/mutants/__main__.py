"""`python -m tests.mutants`: draws a sample, tries it, and prints what survived in each group."""

import argparse
import ast
import itertools
import json
import os
import random
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.mutants.reach import SOURCE, Reached, digest, numbering, read
from tests.mutants.sites import Site, sites
from tests.mutants.trials import TIMED_OUT, Mutant, Result, Trial, read_results

ROOT: Final = SOURCE.parents[1]
EQUIVALENTS: Final = Path(__file__).with_name("equivalents.yaml")
TEST_SECONDS: Final = 20.0
"""CPU seconds of tests that a mutant has to survive."""

GROUPS: Final = {
    "contracts": "api config framework guard scaffold testing kernels",
    "plugins and policies": "plugins policies",
    "engine": "cache queue cycle batching scheduler bind watch",
    "groups": "gang preemption tenancy devices rollout",
    "embedded and lab": "memory simulate kpi bench recording",
    "process": "cli app observe serve kube feeds",
    "explain and dashboard": "explain shadow dashboard extender",
}
"""The packages that are sampled together; what is in none of them is a contract."""

LEFT_OUT: Final = "architecture deploy docs lint long mutants"
"""Folders of tests that look at files, or take long."""
WHICH: Final = "not kube and not browser and not long"

Place = tuple[Path, int, Site]


def group_of(path: Path) -> str:
    package = path.relative_to(SOURCE).parts[0]
    return next(
        (name for name, members in GROUPS.items() if package in members.split()), "contracts"
    )


def sample(seed: int, count: int, files: Iterable[Path]) -> dict[Mutant, int]:
    """Mutants, as many of each group, the kinds in turn, one per function; and their stretches."""
    drawn: dict[Mutant, int] = {}
    places: dict[str, list[Place]] = {group: [] for group in GROUPS}
    for path in files:
        each_site = enumerate(sites(ast.parse(path.read_bytes())))
        places[group_of(path)] += [(path, number, site) for number, site in each_site]
    for index, group in enumerate(GROUPS):
        share = count // len(GROUPS) + (index < count % len(GROUPS))
        random.Random(f"{seed} {group}").shuffle(places[group])
        for path, number, site in itertools.islice(_kinds_in_turn(places[group]), share):
            drawn[_mutant(group, path, number)] = site.stretch
    return drawn


def _kinds_in_turn(places: list[Place]) -> Iterator[Place]:
    waiting: dict[str, deque[Place]] = {}
    for place in sorted(places, key=lambda place: place[2].change.kind):
        waiting.setdefault(place[2].change.kind, deque()).append(place)
    used: set[tuple[Path, int]] = set()
    while any(waiting.values()):
        for path, number, site in [line.popleft() for line in waiting.values() if line]:
            if (path, site.function.lineno) not in used:
                used.add((path, site.function.lineno))
                yield path, number, site


def _mutant(group: str, path: Path, number: int) -> Mutant:
    """Its text is that of a tree of its own, changed."""
    change = sites(ast.parse(path.read_bytes()))[number].change
    before = change.show()
    change.make()
    before, after = (" ".join(text.split())[:100] for text in (before, change.show()))
    name = str(path.relative_to(SOURCE))
    return Mutant(group, name, number, change.line, change.kind, before, after)


def trials(mutants: dict[Mutant, int], reached: Sequence[Reached]) -> list[Trial]:
    """Each mutant with the tests that reach it."""
    wanted = sorted(set(mutants.values()))
    by_stretch: dict[int, list[Reached]] = {stretch: [] for stretch in wanted}
    for each in reached:
        for stretch in each.among(wanted):
            by_stretch[stretch].append(each)
    return [_trial(mutant, by_stretch[stretch]) for mutant, stretch in mutants.items()]


def _trial(mutant: Mutant, reached: list[Reached]) -> Trial:
    """The tests of its own package come first, and the quick ones before the slow ones."""
    own = f"/{mutant.path.partition('/')[0]}/"
    reached = sorted(reached, key=lambda each: (own not in each.test, each.seconds))
    spent = list(itertools.accumulate((each.seconds for each in reached), initial=0.0))
    met = [each.test for each, before in zip(reached, spent, strict=False) if before < TEST_SECONDS]
    return Trial(mutant, met, spent[len(met)])


def summary(results: Sequence[Result], equivalents: dict[str, str]) -> Iterator[str]:
    """How many of each group were killed, and what survived."""
    for group in GROUPS:
        mine = [result for result in results if result.mutant.group == group]
        killed = sum(result.is_killed for result in mine)
        alive = [result for result in mine if not result.is_killed]
        same = [result for result in alive if result.mutant.name in equivalents]
        counted = len(mine) - len(same)
        yield (
            f"{group}: {killed} of {counted} killed, {100 * killed // max(1, counted)} %"
            f" ({sum(result.by == TIMED_OUT for result in mine)} by the time they took)"
        )
        for result in alive:
            verdict = equivalents.get(result.mutant.name)
            yield f"  {result.mutant}: {f'equivalent: {verdict}' if verdict else result.by}"


def _start(plugin: str, plan: Path, tests: Sequence[str]) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join((str(ROOT), str(SOURCE.parent)))
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    options = ["-q", "-s", "-p", "no:xdist", "-p", f"tests.mutants.{plugin}", "-m", WHICH]
    command = [sys.executable, "-m", "pytest", *options, "--timeout=600", *tests]
    return subprocess.Popen(command, cwd=ROOT, env={**environment, "MUTANTS": str(plan)})


def _folders() -> list[str]:
    folders = sorted(each.name for each in (ROOT / "tests").iterdir() if each.is_dir())
    left_out = {*LEFT_OUT.split(), "__pycache__"}
    return [f"tests/{folder}" for folder in folders if folder not in left_out]


def _try(every: list[Trial], folder: Path, jobs: int) -> None:
    processes = []
    for job in range(jobs):
        plan = folder / f"plan-{job}.json"
        mine = every[job::jobs]
        plan.write_text(json.dumps(mine))
        files = sorted({test.partition("::")[0] for trial in mine for test in trial.tests})
        processes.append(_start("trials", plan, files))
    for process in processes:
        process.wait()


def main() -> int:
    options = _options()
    cache = ROOT / ".mutants" / digest()
    folder = cache / f"seed-{options.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    if _start("reach", cache / "reach.jsonl", _folders()).wait() > 1:
        return 2
    first = numbering()
    drawn = sample(options.seed, options.mutants, filter(Path.is_file, first))
    mutants = {each: first[SOURCE / each.path] + stretch for each, stretch in drawn.items()}
    done = read_results(folder / "results.jsonl")
    finished = {key for key, each in done.items() if each.is_killed or not options.again}
    todo = {each: place for each, place in mutants.items() if each.key not in finished}
    if todo:
        _try(trials(todo, list(read(cache / "reach.jsonl"))), folder, options.jobs)
    done = read_results(folder / "results.jsonl")
    equivalents: dict[str, Any] = yaml.safe_load(EQUIVALENTS.read_text()) or {}
    print(*summary([done[each.key] for each in mutants if each.key in done], equivalents), sep="\n")
    return 0 if all(each.key in done for each in mutants) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", type=int, default=300, help="how many, in seven groups")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--again", action="store_true", help="try survivors anew")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
