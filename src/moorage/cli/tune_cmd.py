"""`moorage tune`: searches weights and arguments on some seeds, and judges them on others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from moorage import __version__
from moorage.app.output_files import write_private
from moorage.cli import comparison_output
from moorage.cli.command_exit import FAILED, INTERRUPTED
from moorage.cli.common import PLUGIN, TABLE_OR_JSON, exit_on_bad_input
from moorage.cli.comparison_output import write_report
from moorage.cli.scenario_options import (
    NODES,
    ON,
    PODS,
    SEEDS,
    WORKERS,
    executor_for,
    read_configurations,
    read_scenario,
    read_seeds,
    with_all,
)
from moorage.cli.standard_streams import echo
from moorage.config.field_errors import InputError
from moorage.simulate import tuning
from moorage.simulate.report import page
from moorage.simulate.search_space import Value, check_values, read_space


@click.command("tune", short_help="Search weights and arguments for a scenario.")
@click.argument("scenario", required=False)
@with_all(NODES, PODS)
@click.option("--config", metavar="FILE", help="The KubeSchedulerConfiguration to start from.")
@with_all(PLUGIN)
@click.option(
    "--space",
    required=True,
    metavar="FILE",
    help="The search space: what may be changed, and how far.",
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    required=True,
    metavar="KPI|max:KPI",
    help="What to make small, or large; several are weighed against each other.",
)
@click.option("--trials", type=click.IntRange(min=1), default=20, show_default=True)
@with_all(SEEDS, WORKERS, ON)
@click.option("--write", metavar="FILE", help="Where to write the configuration that was found.")
@click.option(
    "--report",
    metavar="FILE.html",
    help="Also write the comparison of given and tuned as one HTML page.",
)
@TABLE_OR_JSON
@exit_on_bad_input
def tune_command(
    scenario: str | None,
    nodes: str | None,
    pods: str | None,
    config: str | None,
    plugins: tuple[str, ...],
    space: str,
    objectives: tuple[str, ...],
    trials: int,
    seeds: str,
    workers: int,
    on: str | None,
    write: str | None,
    report: str | None,
    output: str,
) -> None:
    """Search weights and arguments that make a scenario better, and say honestly if none do.

    The search uses the first half of the seeds. Its result is then compared with the given
    configuration on the second half, which the search has not seen.

    \b
    Example:
      moorage tune scenario.yaml --config a.yaml --space space.yaml --objective cost

    The exit code is 0, also where nothing better was found, or 1 where a plugin raised, 2 where the
    input is at fault, and 130 after Ctrl-C.
    """
    tuning.require_optuna()
    if report:
        page.check_target(report)
    if write and not Path(write).absolute().parent.is_dir():
        raise InputError([f"--write {write}: no such folder"])
    searched, places = read_space(space)
    wanted = tuning.read_objectives(objectives)
    played = read_scenario(scenario, nodes, pods)
    base = read_configurations([config] if config else [], plugins)[0]
    check_values(searched, base, places)
    listed = read_seeds(seeds)
    with executor_for(on, min(workers, len(listed)), played) as executor:
        tuner = tuning.Tuner(played, base, searched, wanted, executor)
        found = tuner.run(listed, trials, _tell, __version__)
    if write:
        write_private(write, found.candidate.text)
    if report:
        write_report(found.held_out, played.question, [base, found.candidate], report)
    _show(found, output, write)
    failed = comparison_output.say_what_failed(found.held_out)
    if not found.whole:
        raise SystemExit(INTERRUPTED)
    if failed:
        raise SystemExit(FAILED)


def _tell(number: int, values: Mapping[str, Value], worth: Sequence[float]) -> None:
    shown = ", ".join(f"{path}={value}" for path, value in values.items())
    came_to = ", ".join(f"{each:.4g}" for each in worth) or "not a valid configuration"
    echo(f"trial {number}: {came_to} ({shown})", err=True)


def _show(found: tuning.Tuned, output: str, write: str | None) -> None:
    if output == "json":
        comparison_output.write_json(
            {
                "values": found.values,
                "trials": found.trials,
                "better": found.is_better,
                "verdict": found.verdict,
                "configuration": found.candidate.text.decode(),
                "held_out": found.held_out.as_data(),
            }
        )
        return
    comparison_output.print_comparison(found.held_out)
    if write is None:
        echo(found.candidate.text.decode())
    echo(found.verdict)
