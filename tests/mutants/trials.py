"""Tries mutants: a pytest plugin that, with all tests imported, forks a process for each mutant.

`-p tests.mutants.trials`, with the file of the plan in MUTANTS. The child exchanges the
code of one function and runs the tests of the plan; no file of the project is changed. Processes
that tests start run the source as it is.
"""

import ast
import gc
import importlib
import json
import mmap
import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, NamedTuple

import pytest
from hypothesis import Phase, settings

from moorage.guard.deadline_watchdog import WATCHDOG, DeadlineWatchdog
from tests.mutants.reach import SOURCE
from tests.mutants.sites import sites

IDLE_SECONDS: Final = 60.0
"""A mutant that waits for ever in one test is given up then."""
SURVIVED: Final = "survived"
NOT_COVERED: Final = "not covered"
TIMED_OUT: Final = "timed out"


class Mutant(NamedTuple):
    """One change: the n-th site of a file of the source."""

    group: str
    path: str
    number: int
    line: int
    kind: str
    before: str
    after: str

    @property
    def key(self) -> str:
        return f"{self.path}#{self.number}"

    @property
    def name(self) -> str:
        """What it is called where its line may change."""
        return f"{self.path} {self.kind}: {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.before} -> {self.after}"


class Trial(NamedTuple):
    """A mutant, the tests that reach it, the quickest first, and their CPU seconds."""

    mutant: Mutant
    tests: list[str]
    seconds: float


class Result(NamedTuple):
    """What became of a mutant: the test that noticed, or how it ended without one."""

    mutant: Mutant
    by: str

    @property
    def is_killed(self) -> bool:
        return self.by not in (SURVIVED, NOT_COVERED)


def read_results(path: Path) -> dict[str, Result]:
    """The last result of each mutant."""
    lines = path.read_text().splitlines() if path.exists() else []
    results = [Result(Mutant(*mutant), by) for mutant, by in map(json.loads, lines)]
    return {result.mutant.key: result for result in results}


def install(mutant: Mutant) -> None:
    """Exchanges the code of the function in this process."""
    file = SOURCE / mutant.path
    tree = ast.parse(file.read_bytes())
    site = sites(tree)[mutant.number]
    first = min(node.lineno for node in (site.function, *site.function.decorator_list))
    site.change.make()
    changed = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    place = (str(file), first, site.function.name)
    code = next(code for code in _codes(changed) if _place(code) == place)
    module = (SOURCE.name, *Path(mutant.path).with_suffix("").parts)
    importlib.import_module(".".join(module).removesuffix(".__init__"))
    gc.unfreeze()  # what is frozen is not listed
    functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
    changed_ones = [each for each in functions if _place(each.__code__) == place]
    assert changed_ones, f"no function at {place}"
    for function in changed_ones:
        function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


class TrialPlugin:
    def __init__(self, plan: Path) -> None:
        self.results = plan.with_name("results.jsonl")
        self.trials = [
            Trial(Mutant(*mutant), tests, seconds)
            for mutant, tests, seconds in json.loads(plan.read_text())
        ]
        self.broken: dict[str, bool] = {}
        self.has_failed = False
        self.shared = mmap.mmap(-1, 4)

    def pytest_collection(self) -> None:
        quick = (Phase.explicit, Phase.generate)  # what fails need not be made small
        settings.register_profile("mutants", settings(), phases=quick, database=None)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.has_failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        began = time.monotonic()
        gc.collect()
        gc.freeze()
        for count, trial in enumerate(self.trials, 1):
            by = self._outcome(trial, [items[test] for test in trial.tests if test in items])
            with self.results.open("a") as file:
                file.write(json.dumps([trial.mutant, by]) + "\n")
            passed = time.monotonic() - began
            print(f"{count}/{len(self.trials)} {passed:.0f} s  {trial.mutant}: {by}", flush=True)
        return True

    def _outcome(self, trial: Trial, items: Sequence[pytest.Item]) -> str:
        """A test that fails without the mutant, too, says nothing about it."""
        items = [item for item in items if not self.broken.get(item.nodeid)]
        if not items:
            return NOT_COVERED
        end, item = self._first_failure(trial.mutant, items, trial.seconds)
        if end == SURVIVED:
            return end
        if item.nodeid not in self.broken:
            alone, _ = self._first_failure(None, [item], trial.seconds)
            self.broken[item.nodeid] = alone != SURVIVED
        return self._outcome(trial, items) if self.broken[item.nodeid] else end

    def _first_failure(
        self, mutant: Mutant | None, items: Sequence[pytest.Item], seconds: float
    ) -> tuple[str, pytest.Item]:
        """How a process of its own ends, and the test that it ran last."""
        reader, writer = os.pipe()
        self.shared[:4] = bytes(4)
        child = os.fork()
        if child == 0:
            self._child(mutant, items, seconds, writer)
        os.close(writer)
        with open(reader, "rb") as pipe:
            running, until = self._running(), time.monotonic() + IDLE_SECONDS
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if self._running() != running:
                    running, until = self._running(), time.monotonic() + IDLE_SECONDS
                if time.monotonic() > until:
                    os.kill(child, signal.SIGKILL)
                time.sleep(0.01)
            return pipe.read().decode() or TIMED_OUT, items[self._running()]

    def _running(self) -> int:
        """The number of the test that the child runs."""
        return int.from_bytes(self.shared[:4], "big")

    def _child(
        self, mutant: Mutant | None, items: Sequence[pytest.Item], seconds: float, writer: int
    ) -> None:
        DeadlineWatchdog.__init__(WATCHDOG)  # its thread is the parent's
        limit = int(15 + 4 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        try:
            os.write(writer, self._run(mutant, items).encode())
        finally:
            os._exit(0)

    def _run(self, mutant: Mutant | None, items: Sequence[pytest.Item]) -> str:
        if mutant is not None:
            install(mutant)
        for number, item in enumerate(items):
            self.shared[:4] = number.to_bytes(4, "big")
            after = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.has_failed:
                return item.nodeid
        return SURVIVED


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    early_config.pluginmanager.register(TrialPlugin(Path(os.environ["MUTANTS"])))
