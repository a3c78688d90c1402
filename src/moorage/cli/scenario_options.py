"""What `simulate`, `compare` and `tune` share: scenarios, configurations, seeds, workers."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from moorage.config.field_errors import InputError
from moorage.simulate.candidate import Candidate, read_candidates
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_file import read_scenario_file
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


def read_seeds(text: str) -> list[int]:
    """`10` is 1 to 10, `5-8` is 5 to 8, `1,3,9` is those."""
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
    """The scenario that was named, by a file or by tables."""
    if path and not (nodes or pods):
        return read_scenario_file(path)
    if nodes and pods and not path:
        return scenario_of_tables(nodes, pods)
    raise InputError(["name a scenario: a file, or --nodes nodes.csv and --pods pods.csv together"])


def read_configurations(configs: Sequence[str], plugins: Sequence[str]) -> list[Candidate]:
    """The configurations to try, checked, with their warnings said."""
    found = read_candidates(configs, plugins)
    for candidate in found:
        candidate.load()
        for warning in candidate.warnings:
            click.echo(f"warning: {warning}", err=True)
    return found


def with_all(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options, in this order."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add
