"""`moorage bench`: in-process throughput."""

import cProfile
import pstats
import sys

import click
import msgspec

from moorage.bench import measuring, starting
from moorage.bench.kinds import KINDS, STARTUP
from moorage.cli import plugin_loading
from moorage.cli.configuration import configuration
from moorage.cli.failing import failing_clearly
from moorage.simulate.running import build_profiles


@click.command("bench", short_help="Measure the scheduling decision.")
@click.option("--kind", type=click.Choice([*KINDS, STARTUP]), default="basic", show_default=True)
@click.option("--nodes", type=click.IntRange(min=1), default=5000, show_default=True)
@click.option("--pods", type=click.IntRange(min=1), default=3000, show_default=True)
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE.py|MODULE:CLASS")
@click.option("--seed", default=0, show_default=True, help="Ties are broken by this seed.")
@click.option("--profile", "profiled", is_flag=True, help="Show on stderr where the time goes.")
@failing_clearly
def bench_command(
    kind: str,
    nodes: int,
    pods: int,
    config: str | None,
    plugins: tuple[str, ...],
    seed: int,
    profiled: bool,
) -> None:
    """Measure the decision: pop, filter, score, choose, assume, for every pod; all nodes scored.

    Prints one JSON line. Building the cluster and reading the pods is not counted.

    \b
    Examples:
      moorage bench --kind varied --nodes 5000 --pods 3000
      moorage bench --kind spread --profile
      moorage bench --kind startup --nodes 5000 --pods 50000
    """
    known = plugin_loading.load(plugins)
    profiles = build_profiles(configuration(config, known).configuration, known)
    profiler = cProfile.Profile() if profiled else None
    if profiler is not None:
        profiler.enable()
    result: measuring.Result | starting.Started = (
        starting.run(nodes, pods, profiles, seed)
        if kind == STARTUP
        else measuring.run(kind, nodes, pods, profiles, seed)
    )
    if profiler is not None:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    click.echo(msgspec.json.encode(result).decode())
