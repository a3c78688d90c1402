"""`moorage bench`: in-process throughput."""

import cProfile
import pstats
import sys

import click
import msgspec

from moorage.app import plugin_files
from moorage.app.inputs import read_configuration
from moorage.app.profile_builder import build_profiles
from moorage.bench import startup, throughput
from moorage.bench.workload_kinds import KINDS, STARTUP
from moorage.cli.common import exit_on_bad_input
from moorage.cli.standard_streams import echo


@click.command("bench", short_help="Measure the scheduling decision.")
@click.option("--kind", type=click.Choice([*KINDS, STARTUP]), default="basic", show_default=True)
@click.option("--nodes", type=click.IntRange(min=1), default=5000, show_default=True)
@click.option("--pods", type=click.IntRange(min=1), default=3000, show_default=True)
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE.py|MODULE:CLASS")
@click.option("--seed", default=0, show_default=True, help="Ties are broken by this seed.")
@click.option("--profile", "profiled", is_flag=True, help="Show on stderr where the time goes.")
@exit_on_bad_input
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

    The scheduler is put together as `moorage run` does it, and decides with the same code.

    Prints one JSON line. Building the cluster and reading the pods is not counted.

    \b
    Examples:
      moorage bench --kind varied --nodes 5000 --pods 3000
      moorage bench --kind spread --profile
      moorage bench --kind startup --nodes 5000 --pods 50000
    """
    known = plugin_files.load_plugins(plugins)
    configuration = read_configuration(config, known).configuration
    if configuration.extenders:
        echo("bench asks no extenders: those of the configuration are left out", err=True)
    profiles = build_profiles(configuration, known)
    profiler = cProfile.Profile() if profiled else None
    if profiler is not None:
        profiler.enable()
    result: throughput.Throughput | startup.Startup = (
        startup.measure_startup(nodes, pods, profiles, seed)
        if kind == STARTUP
        else throughput.measure_throughput(kind, nodes, pods, profiles, seed)
    )
    if profiler is not None:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    echo(msgspec.json.encode(result).decode())
