"""`moorage compare`: configurations side by side, on the same scenario and the same seeds."""

import click

from moorage import __version__
from moorage.cli import comparison_output
from moorage.cli.command_exit import FAILED, INTERRUPTED
from moorage.cli.common import PLUGIN, TABLE_OR_JSON, exit_on_bad_input
from moorage.cli.comparison_output import write_report
from moorage.cli.run_progress import RunProgress
from moorage.cli.scenario_options import (
    CONFIGS,
    NODES,
    ON,
    PODS,
    SEEDS,
    WORKERS,
    executor_for,
    read_configurations,
    read_scenario,
    read_seeds,
    refuse_nothing_done,
    with_all,
)
from moorage.cli.standard_streams import echo
from moorage.simulate import result_table, sweep
from moorage.simulate.comparison import compare
from moorage.simulate.failure_rules import read_rule
from moorage.simulate.report import page


@click.command("compare", short_help="Compare configurations on one scenario.")
@click.argument("scenario", required=False)
@with_all(NODES, PODS, CONFIGS, PLUGIN, SEEDS, WORKERS, ON)
@click.option(
    "--fail-if",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Exit with 1 where this is so, as 'p95_wait > +5%' or 'never_placed > 0'.",
)
@click.option(
    "--results", metavar="FILE", help="Also write the KPIs of every run: .csv, .parquet or .json."
)
@click.option("--report", metavar="FILE.html", help="Also write the comparison as one HTML page.")
@TABLE_OR_JSON
@exit_on_bad_input
def compare_command(
    scenario: str | None,
    nodes: str | None,
    pods: str | None,
    configs: tuple[str, ...],
    plugins: tuple[str, ...],
    seeds: str,
    workers: int,
    on: str | None,
    rules: tuple[str, ...],
    results: str | None,
    report: str | None,
    output: str,
) -> None:
    """Play a scenario with several configurations, and tell what differs, and by how much.

    Every configuration meets the same pods at the same times, seed by seed; differences are means
    over seeds with their intervals of 95 % confidence.

    \b
    Examples:
      moorage compare scenario.yaml --config a.yaml --config b.yaml --fail-if 'p95_wait > +5%'
      moorage compare --nodes nodes.csv --pods pods.csv --config a.yaml --seeds 1-10 -o json

    The exit code is 0, or 1 where a rule of --fail-if is broken or a plugin raised, 2 where the
    input is at fault, and 130 after Ctrl-C.
    """
    kept = [read_rule(rule) for rule in rules]
    if results:
        result_table.check_target(results)
    if report:
        page.check_target(report)
    played = read_scenario(scenario, nodes, pods)
    candidates = read_configurations(configs, plugins)
    for rule in kept:
        rule.check(len(candidates))
    tasks = sweep.tasks_of(candidates, read_seeds(seeds))
    with (
        executor_for(on, min(workers, len(tasks)), played) as executor,
        RunProgress(len(tasks)) as progress,
    ):
        made, whole = sweep.run_all(played, tasks, executor, progress.done)
    refuse_nothing_done(made)
    found = compare(played.name, __version__, made)
    if results:
        result_table.write_results(found, results)
    if report:
        write_report(found, played.question, candidates, report)
    comparison_output.write_comparison(found, output)
    failed = comparison_output.say_what_failed(found)
    broken = [line for rule in kept for line in rule.broken_by(found)]
    for line in broken:
        echo(line, err=True)
    if not whole:
        echo("interrupted: this is what was done by then", err=True)
        raise SystemExit(INTERRUPTED)
    if broken or failed:
        raise SystemExit(FAILED)
