"""The scenario side of `moorage simulate`: one run in virtual time, and its KPIs."""

from collections.abc import Sequence

import click

from moorage import __version__
from moorage.cli import comparison_output
from moorage.cli.scenario_options import read_configurations, read_scenario, refuse_nothing_done
from moorage.config.field_errors import InputError
from moorage.simulate import scenario_file
from moorage.simulate.comparison import compare
from moorage.simulate.scenario_run import run_scenario


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
) -> None:
    """Play a scenario once, and write what came of it."""
    if output == "yaml":
        raise InputError(["-o yaml: a scenario is told as a table or as json"])
    scenario = read_scenario(paths[0] if paths else None, nodes, pods)
    candidate = read_configurations([config] if config else [], plugins)[0]
    result = run_scenario(scenario, candidate, seed)
    refuse_nothing_done({candidate.name: [result]})
    found = compare(scenario.name, __version__, {candidate.name: [result]})
    if output == "json":
        comparison_output.write_json({"seed": seed, "kpis": result.kpis, **found.as_data()})
        return
    comparison_output.print_comparison(found)
    if result.gave_up:
        click.echo(result.gave_up)
