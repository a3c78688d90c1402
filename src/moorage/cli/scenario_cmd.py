"""The scenario side of `moorage simulate`: one run in virtual time, and its KPIs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from moorage import __version__
from moorage.cli import comparison_output
from moorage.cli.scenario_options import read_configurations, read_scenario, refuse_nothing_done
from moorage.config.field_errors import InputError
from moorage.simulate import scenario_file
from moorage.simulate.candidate import Candidate
from moorage.simulate.comparison import Comparison, compare
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_run import RunResult, run_scenario, run_scenario_observed

if TYPE_CHECKING:
    from moorage.cli.finished_run import FinishedRun


def is_scenario(paths: Sequence[str]) -> bool:
    """Whether what was named is a scenario, and not manifests."""
    return len(paths) == 1 and scenario_file.is_scenario(paths[0])


def play(
    paths: Sequence[str],
    nodes: str | None,
    pods: str | None,
    config: str | None,
    plugins: Sequence[str],
    seed: int,
    output: str,
    shown: "FinishedRun | None" = None,
) -> None:
    """Play a scenario once, and write what came of it; `shown` is served afterwards."""
    if output == "yaml":
        raise InputError(["-o yaml: a scenario is told as a table or as json"])
    scenario = read_scenario(paths[0] if paths else None, nodes, pods)
    candidate = read_configurations([config] if config else [], plugins)[0]
    if shown is None:
        result = run_scenario(scenario, candidate, seed)
        _write(_compared(scenario, candidate, result), result, output)
        return
    result, scheduler = run_scenario_observed(scenario, candidate, seed, shown.observers)
    found = _compared(scenario, candidate, result)
    _write(found, result, output)
    shown.serve(scheduler, kpis=comparison_output.kpi_rows(found))


def _compared(scenario: Scenario, candidate: Candidate, result: RunResult) -> Comparison:
    refuse_nothing_done({candidate.name: [result]})
    return compare(scenario.name, __version__, {candidate.name: [result]})


def _write(found: Comparison, result: RunResult, output: str) -> None:
    if output == "json":
        comparison_output.write_json({"seed": result.seed, "kpis": result.kpis, **found.as_data()})
        return
    comparison_output.print_comparison(found)
    if result.gave_up:
        click.echo(result.gave_up)
