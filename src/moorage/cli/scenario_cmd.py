"""The scenario side of `moorage simulate`: one run in virtual time, and its KPIs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from moorage import __version__
from moorage.app.config_bundle import ConfigBundle
from moorage.cli import comparison_output
from moorage.cli.record_options import NOT_RECORDED, RecordTo, recording_to
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
    record: RecordTo = NOT_RECORDED,
) -> None:
    """Play a scenario once, and write what came of it; `shown` is served afterwards."""
    if output == "yaml":
        raise InputError(["-o yaml: a scenario is told as a table or as json"])
    scenario = read_scenario(paths[0] if paths else None, nodes, pods)
    candidate = read_configurations([config] if config else [], plugins)[0]
    if shown is None and not record.folder:
        result = run_scenario(scenario, candidate, seed)
        _write(_compared(scenario, candidate, result), result, output)
        return
    observers = () if shown is None else shown.observers
    with recording_to(record) as recording:
        recording.applied(ConfigBundle(candidate.load()), candidate.plugins(), plugins)
        result, scheduler = run_scenario_observed(
            scenario, candidate, seed, observers, recording.tap_of
        )
    found = _compared(scenario, candidate, result)
    _write(found, result, output)
    if shown is not None:
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
