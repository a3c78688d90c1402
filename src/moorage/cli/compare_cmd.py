"""`moorage compare`: configurations side by side, on the same scenario and the same seeds."""

import click

from moorage import __version__
from moorage.cli import comparison_output
from moorage.cli.common import PLUGIN, exit_on_bad_input
from moorage.cli.scenario_options import (
    CONFIGS,
    NODES,
    PODS,
    SEEDS,
    WORKERS,
    read_configurations,
    read_scenario,
    read_seeds,
    with_all,
)
from moorage.simulate import sweep
from moorage.simulate.comparison import compare

INTERRUPTED = 130


@click.command("compare", short_help="Compare configurations on one scenario.")
@click.argument("scenario", required=False)
@with_all(NODES, PODS, CONFIGS, PLUGIN, SEEDS, WORKERS)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A table to read, or data to process.",
)
@exit_on_bad_input
def compare_command(
    scenario: str | None,
    nodes: str | None,
    pods: str | None,
    configs: tuple[str, ...],
    plugins: tuple[str, ...],
    seeds: str,
    workers: int,
    output: str,
) -> None:
    """Play a scenario with several configurations, and tell what differs, and by how much.

    Every configuration meets the same pods at the same times, seed by seed; differences are means
    over seeds with their intervals of 95 % confidence.

    \b
    Examples:
      moorage compare --nodes nodes.csv --pods pods.csv --config a.yaml --config b.yaml
      moorage compare --nodes nodes.csv --pods pods.csv --config a.yaml --seeds 1-10 -o json
    """
    played = read_scenario(scenario, nodes, pods)
    candidates = read_configurations(configs, plugins)
    tasks = sweep.tasks_of(candidates, read_seeds(seeds))
    with sweep.local_executor(min(workers, len(tasks)), played) as executor:
        results, whole = sweep.run_all(played, tasks, executor)
    found = compare(played.name, __version__, results)
    if output == "json":
        comparison_output.write_json(found.as_data())
    else:
        comparison_output.print_comparison(found)
    if not whole:
        click.echo("interrupted: this is what was done by then", err=True)
        raise SystemExit(INTERRUPTED)
