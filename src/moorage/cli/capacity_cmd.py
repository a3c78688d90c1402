"""`moorage capacity`: how many more pods of a shape fit."""

import sys
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from moorage.cli.cluster_options import ClusterChoice, ManifestCommand, with_cluster_options
from moorage.cli.command_exit import FAILED
from moorage.cli.common import TABLE_OR_JSON, exit_on_bad_input
from moorage.cli.pod_shapes import read_shapes
from moorage.cli.server_question import without_server
from moorage.cli.standard_streams import echo, stdout_to_stderr
from moorage.cli.terminal import Terminal
from moorage.explain.capacity import INSTANCE_TYPE, Capacity, capacity


@click.command(
    "capacity", cls=ManifestCommand, short_help="Count how many more pods of a shape fit."
)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "--pod",
    "shapes",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Manifests of shapes: pods, and whatever makes pods, each counted. May be repeated.",
)
@click.option(
    "--by",
    "group_by",
    default=INSTANCE_TYPE,
    show_default=True,
    metavar="LABEL",
    help="The node label that tells node groups apart.",
)
@without_server
@with_cluster_options
@TABLE_OR_JSON
@exit_on_bad_input
def capacity_command(
    paths: tuple[str, ...],
    shapes: tuple[str, ...],
    group_by: str,
    output: str,
    **given: Any,
) -> None:
    """Count how many more pods of a shape fit, where, and what runs out first.

    PATHs are manifests as `moorage simulate` reads them. They are scheduled first; then each shape
    is counted by itself. Without PATHs a live cluster is read, with lists only. The exit code is 1
    if a plugin raised.

    \b
    Examples:
      moorage capacity cluster.yaml --pod web.yaml
      moorage capacity cluster/ --pod small.yaml --pod gpu.yaml --by pool -o json
      moorage capacity --context staging --pod web.yaml
    """
    choice = ClusterChoice(paths, **given)
    with stdout_to_stderr():
        pods = [pod for shape in shapes for pod in read_shapes(shape, choice.validate)]
        source = choice.source()
        found = [capacity(source.world, pod, group_by=group_by) for pod in pods]
    if output == "json":
        echo(msgspec.json.encode(found))
    else:
        _print(found, Terminal(highlight=False))
    if source.errors:
        sys.exit(FAILED)


def _print(found: list[Capacity], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("SHAPE", no_wrap=True)
    table.add_column("FIT", justify="right")
    table.add_column("NODES", justify="right")
    table.add_column("RUNS OUT FIRST")
    for each in found:
        first = ", ".join(f"{name} on {count}" for name, count in each.runs_out.items())
        table.add_row(each.pod, str(each.fits), str(each.nodes), first or each.message)
    console.print(table)
    for each in found:
        for title, parts in (("zone", each.by_zone), ("group", each.by_group)):
            named = {name: count for name, count in parts.items() if name}
            if named:
                shown = ", ".join(f"{name} {count}" for name, count in named.items())
                console.print(f"{each.pod} by {title}: {shown}", soft_wrap=True)
