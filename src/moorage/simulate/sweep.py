"""A sweep: every configuration with every seed, on all cores, in any order."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import NamedTuple

from moorage.simulate.candidate import Candidate
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_run import RunResult, run_scenario


class Task(NamedTuple):
    """One run to be made."""

    candidate: Candidate
    seed: int


Results = dict[str, list[RunResult]]
Progress = Callable[[Task, RunResult], None]


def tasks_of(candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[Task]:
    """The tasks, seed by seed: an interrupted sweep then has comparable results."""
    return [Task(candidate, seed) for seed in seeds for candidate in candidates]


def run_all(
    scenario: Scenario,
    tasks: Sequence[Task],
    executor: Executor | None = None,
    progress: Progress = lambda task, result: None,
) -> tuple[Results, bool]:
    """The results by configuration, and whether they are complete: False after an interrupt.

    Results do not depend on the executor: a run depends on its scenario, its configuration and its
    seed alone.
    """
    results: Results = {task.candidate.name: [] for task in tasks}
    whole = True
    try:
        for task, result in _each(scenario, tasks, executor):
            results[task.candidate.name].append(result)
            progress(task, result)
    except KeyboardInterrupt:
        whole = False
    for found in results.values():
        found.sort(key=lambda result: result.seed)
    return results, whole


def _each(
    scenario: Scenario, tasks: Sequence[Task], executor: Executor | None
) -> Iterator[tuple[Task, RunResult]]:
    if executor is None:
        for task in tasks:
            yield task, run_scenario(scenario, task.candidate, task.seed)
        return
    waiting: dict[Future[RunResult], Task] = {
        executor.submit(_work, scenario, task): task for task in tasks
    }
    try:
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        for future in waiting:
            future.cancel()


@contextmanager
def local_executor(workers: int, scenario: Scenario) -> Iterator[Executor | None]:
    """Local processes that hold the scenario; None for a single worker."""
    if workers <= 1:
        yield None
        return
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_prepare, initargs=(scenario,))
    shared = _SharedScenario(pool)
    try:
        yield shared
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_known: list[Scenario] = []
"""In a worker process: the scenario it was started with."""


def _prepare(scenario: Scenario) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and stops us
    _known[:] = [scenario]


def _work(scenario: Scenario | None, task: Task) -> RunResult:
    return run_scenario(scenario if scenario is not None else _known[0], *task)


class _SharedScenario(Executor):
    """Sends tasks to processes that hold the scenario, and so does not send it."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, fn, /, scenario, task):  # type: ignore[no-untyped-def, override]
        return self._pool.submit(fn, None, task)
