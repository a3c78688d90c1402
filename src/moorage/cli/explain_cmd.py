"""`moorage explain`: why a pod is where it is, or why it waits and what would help."""

import click
import msgspec
from rich.console import Console

from moorage.app import plugin_files
from moorage.app.inputs import read_configuration
from moorage.cli import common
from moorage.cli.common import exit_on_bad_input
from moorage.cli.explain_text import print_explanation
from moorage.config.field_errors import InputError
from moorage.explain.explanation import explain
from moorage.explain.sources import from_simulation
from moorage.simulate import manifest_files
from moorage.simulate.simulation import simulate


@click.command("explain", short_help="Why a pod is where it is, and what would help.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH... [POD]")
@click.option("--pod", "pod", default="", metavar="[NAMESPACE/]NAME", help="The pod to explain.")
@click.option("--config", "config", metavar="FILE", help="A KubeSchedulerConfiguration.")
@common.PLUGIN
@click.option("--seed", default=0, show_default=True, help="Ties are broken by this seed.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Words to read, or data to process.",
)
@exit_on_bad_input
def explain_command(
    paths: tuple[str, ...],
    pod: str,
    config: str | None,
    plugins: tuple[str, ...],
    seed: int,
    output: str,
) -> None:
    """Explain one pod: why this node and no other, or why none and what would help.

    PATHs are manifests as `moorage simulate` reads them. They are scheduled on an embedded cluster,
    and the pod is explained as the cluster stands then. What would help was tried before it is
    told: apply the patch of any change (-o json), and the pod fits.

    \b
    Examples:
      moorage explain cluster.yaml --pod default/web-0
      moorage explain cluster/ workloads/ team-a/train-3 -o json
    """
    *files, named = (*paths, pod) if pod else paths
    if not files:
        raise InputError([f"{named}: name the manifests, then the pod: moorage explain PATH POD"])
    known = plugin_files.load_plugins(plugins)
    loaded = read_configuration(config, known)
    manifests = manifest_files.read_manifests(files)
    ended = simulate(manifests, loaded.configuration, known, seed, loaded.moorage.plugin_guard)
    source = from_simulation(ended)
    found = source.pod(named)
    told = explain(
        source.world,
        source.raw(found),
        node=found.spec.node_name,
        waits_for=source.waits_for(found),
    )
    if output == "json":
        click.echo(msgspec.json.encode(told))
    else:
        print_explanation(told, Console(highlight=False))
