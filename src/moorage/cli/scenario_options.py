"""Options of `simulate`, `compare` and `tune`: scenarios, configurations, seeds, workers."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Final

import click

from moorage.cli.command_exit import FAILED
from moorage.cli.standard_streams import echo
from moorage.config.field_errors import InputError
from moorage.simulate import sweep
from moorage.simulate.candidate import Candidate, read_candidates
from moorage.simulate.dask_executor import dask_executor
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_file import read_scenario_file
from moorage.simulate.scenario_run import RunResult
from moorage.simulate.trace_scenario import scenario_of_tables

NODES: Final = click.option("--nodes", metavar="CSV", help="A table of nodes.")
PODS: Final = click.option("--pods", metavar="CSV", help="A table of pods and their arrivals.")
CONFIGS: Final = click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE",
    help="A KubeSchedulerConfiguration; may be repeated.",
)
SEEDS: Final = click.option(
    "--seeds",
    default="10",
    show_default=True,
    metavar="N|FROM-TO|A,B,...",
    help="How many seeds, or which.",
)
WORKERS: Final = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Processes to run in; they do not change results.",
)

ON: Final = click.option(
    "--on", metavar="dask://HOST:PORT", help="Run on the workers of a Dask scheduler instead."
)


@contextmanager
def executor_for(on: str | None, workers: int, scenario: Scenario) -> Iterator[Executor | None]:
    """Where runs are executed: on this machine's cores, or on a Dask cluster."""
    chosen = dask_executor(on) if on else sweep.local_executor(workers, scenario)
    with chosen as executor:
        yield executor


def read_seeds(text: str) -> list[int]:
    """`10` means 1 to 10, `5-8` means 5 to 8, `1,3,9` means those three."""
    try:
        if "," in text:
            found = [int(part) for part in text.split(",") if part.strip()]
        elif "-" in text:
            first, _, last = text.partition("-")
            found = list(range(int(first), int(last) + 1))
        else:
            found = list(range(1, int(text) + 1))
    except ValueError:
        found = []
    if not found or len(set(found)) < len(found):
        raise InputError([f"--seeds {text}: write how many (10), a range (1-10), or a list (1,3)"])
    return found


def read_scenario(path: str | None, nodes: str | None, pods: str | None) -> Scenario:
    """The scenario given by a file or by tables."""
    if path and not (nodes or pods):
        return read_scenario_file(path)
    if nodes and pods and not path:
        return scenario_of_tables(nodes, pods)
    raise InputError(["name a scenario: a file, or --nodes nodes.csv and --pods pods.csv together"])


def read_configurations(configs: Sequence[str], plugins: Sequence[str]) -> list[Candidate]:
    """The configurations to try, checked; prints their warnings."""
    found = read_candidates(configs, plugins)
    for candidate in found:
        candidate.load()
        for warning in candidate.warnings:
            echo(f"warning: {warning}", err=True)
    return found


def refuse_nothing_done(made: Mapping[str, Sequence[RunResult]]) -> None:
    """Raise a clear error if a configuration scheduled nothing, or no run was finished.

    If a plugin raised, the exit code is that of a failure, not of bad input.
    """
    if not any(made.values()):
        raise InputError(["interrupted before the first run was done: there is nothing to tell"])
    for name, results in made.items():
        if results and all(_placed(result) == 0 for result in results):
            said = f"{name}: not a single pod was scheduled"
            error = next((error for result in results for error in result.errors), "")
            if error:
                echo(f"error: {said}: {error}", err=True)
                sys.exit(FAILED)
            why = "no pod that came is one that its profiles schedule, or fits on a node"
            raise InputError([f"{said}: {why}"])


def _placed(result: RunResult) -> int:
    return int(result.kpis["pods"] - result.kpis["never_placed"])


def with_all(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that adds several options, in this order."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add
