"""`moorage defragment`: which few pods to evict so that idle GPUs can be used."""

import sys
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.api.pod import Pod
from moorage.cli.cluster_options import ClusterChoice, ManifestCommand, with_cluster_options
from moorage.cli.command_exit import FAILED
from moorage.cli.common import TABLE_OR_JSON, exit_on_bad_input
from moorage.cli.standard_streams import echo, stdout_to_stderr
from moorage.cli.terminal import Terminal
from moorage.config.field_errors import InputError
from moorage.explain.defragmentation import Defragmentation, GPUMoment, defragment
from moorage.explain.sources import Source
from moorage.policies.gpu.devices.pod_dialects import InvalidRequest, gpu_request
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.simulate.simulation import pods_in


@click.command(
    "defragment", cls=ManifestCommand, short_help="Propose moves that make room on GPUs."
)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "--moves",
    default=10,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="How many pods may be moved at most.",
)
@with_cluster_options
@TABLE_OR_JSON
@exit_on_bad_input
def defragment_command(paths: tuple[str, ...], moves: int, output: str, **given: Any) -> None:
    """Propose a few pods to evict so that idle GPUs can be used, in the order to evict them in.

    PATHs are manifests as `moorage simulate` reads them, scheduled first. Without PATHs a live
    cluster is read as it is, with lists only. The configuration must enable GPUPacking. Each move
    was tried: the configuration decides where the pod's replacement goes. Pods stay where they are
    if no controller makes them again, if they are in gangs, or if a PodDisruptionBudget protects
    them. This command evicts nothing: post an Eviction for each pod.

    \b
    Examples:
      moorage defragment --context production --config gpu.yaml --moves 5
      moorage defragment snapshot.yaml --as-is --config gpu.yaml -o json
    """
    with stdout_to_stderr():
        source = ClusterChoice(paths, **given).source()
        _check(source)
        found = defragment(source.world, _waiting(source), moves)
    if output == "json":
        echo(msgspec.json.encode(found))
    else:
        _print(found, Terminal(highlight=False))
    if source.errors:
        sys.exit(FAILED)


def _check(source: Source) -> None:
    plugins = [one for each in source.world.profiles.values() for one in each.plugins.values()]
    if not any(isinstance(plugin, GPUPacking) for plugin in plugins):
        raise InputError(["no profile enables GPUPacking: give --config FILE with one that does"])


def _waiting(source: Source) -> list[Pod]:
    """The pods with GPUs that have no node."""
    found = []
    for pod in pods_in(source.cluster):
        try:
            asked = gpu_request(source.world.cache.info(pod))
        except InvalidRequest:
            continue
        if asked.gpus and not pod.spec.node_name and not pod.is_terminal:
            found.append(pod)
    return found


def _print(found: Defragmentation, console: Console) -> None:
    for move in found.moves:
        line = f"evict {move.pod} from {move.source}: {move.gpus:g} GPUs go to {move.target}"
        console.print(Text(line), soft_wrap=True)
    if not found.moves:
        console.print("no move is worth it")
    table = Table(box=None, pad_edge=False)
    table.add_column("KPI", no_wrap=True)
    table.add_column("BEFORE", justify="right")
    table.add_column("AFTER", justify="right")
    after = _kpis(found.after, found.before)
    for name, was in _kpis(found.before, found.before).items():
        now = after[name]
        table.add_row(name, was, now, style="bold" if was != now else "")
    console.print(table)


def _kpis(one: GPUMoment, before: GPUMoment) -> dict[str, str]:
    told = {
        "idle GPUs": f"{one.idle:g}",
        "of these unusable": f"{one.unusable:.2f}",
        "pods with GPUs that wait": str(one.waiting),
    }
    room = {f"room for pods with {n} GPUs": str(one.room.get(n, 0)) for n in before.room}
    return told | room
