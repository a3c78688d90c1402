"""`moorage simulate`: the scheduler on an embedded cluster."""

import sys
from typing import Any

import click
import msgspec
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.app import plugin_files
from moorage.app.inputs import read_configuration
from moorage.cli import scenario_cmd
from moorage.cli.common import exit_on_bad_input
from moorage.config.field_errors import InputError
from moorage.memory import manifest_loader
from moorage.simulate import manifest_files, simulated_feeds
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import simulate
from moorage.simulate.simulation_report import NodeReport, Report, ResourceUse, build_report

_BAR = 10


def print_report(report: Report, console: Console) -> None:
    """Print where pods went, why one did not, and how full nodes are."""
    console.print(_pod_table(report))
    pending = [pod for pod in report.pods if pod.is_pending]
    if pending:
        console.print(Text(f"\nPending ({len(pending)})", style="bold yellow"))
        for pod in pending:
            console.print(Text.assemble(("  " + f"{pod.namespace}/{pod.name}", "bold")))
            console.print(Text(f"    {pod.message}"), soft_wrap=True)
    console.print()
    console.print(_node_table(report))
    placed = len(report.pods) - len(pending)
    console.print(
        f"\n{placed} of {len(report.pods)} pods placed on {len(report.nodes)} nodes, "
        f"{report.attempts} attempts"
    )
    for error in report.errors:
        console.print(Text(f"error: {error}", style="red"), soft_wrap=True)


def _pod_table(report: Report) -> Table:
    table = Table(title="Pods", title_justify="left", box=None, pad_edge=False)
    for column in ("NAMESPACE", "POD", "NODE"):
        table.add_column(column, no_wrap=True)
    table.add_column("SCORE", justify="right")
    for pod in report.pods:
        score = "" if pod.score is None else str(pod.score)
        node = pod.node if pod.node else Text("pending", style="yellow")
        table.add_row(pod.namespace, pod.name, node, score)
    return table


def _node_table(report: Report) -> Table:
    names = list(dict.fromkeys(name for node in report.nodes for name in node.resources))
    shown = [name for name in names if any(_use(node, name).requested for node in report.nodes)]
    table = Table(title="Nodes", title_justify="left", box=None, pad_edge=False)
    table.add_column("NODE", no_wrap=True)
    table.add_column("ZONE", no_wrap=True)
    table.add_column("PODS", justify="right")
    for name in shown:
        table.add_column(name.upper() if name in ("cpu", "memory") else name, no_wrap=True)
    for node in report.nodes:
        label = f"{node.name} (cordoned)" if node.unschedulable else node.name
        bars = [_bar(_use(node, name)) for name in shown]
        table.add_row(label, node.zone, str(node.pods), *bars)
    return table


def _use(node: NodeReport, name: str) -> ResourceUse:
    return node.resources.get(name, ResourceUse(0, 0))


def _bar(use: ResourceUse) -> Text:
    if not use.allocatable:
        return Text("-", style="dim")
    filled = min(_BAR, round(use.share * _BAR))
    style = "red" if use.share > 0.9 else "yellow" if use.share > 0.7 else "green"
    bar = Text("█" * filled + "░" * (_BAR - filled), style=style)
    return bar.append(f" {use.share:4.0%}", style="default")


@click.command("simulate", short_help="Schedule manifests on an embedded cluster.")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--nodes", metavar="CSV", help="A table of nodes, instead of manifests.")
@click.option("--pods", metavar="CSV", help="A table of pods with arrivals and durations.")
@click.option("--config", "config", metavar="FILE", help="A KubeSchedulerConfiguration.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py|MODULE:CLASS",
    help="A plugin to know besides the installed ones; may be repeated.",
)
@click.option("--seed", default=0, show_default=True, help="Ties are broken by this seed.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="A table to read, or data to process.",
)
@click.option("--strict", is_flag=True, help="Refuse kinds that scheduling does not read.")
@click.option(
    "--validate/--no-validate",
    default=True,
    show_default=True,
    help="Refuse what an API server refuses.",
)
@exit_on_bad_input
def simulate_command(
    paths: tuple[str, ...],
    nodes: str | None,
    pods: str | None,
    config: str | None,
    plugins: tuple[str, ...],
    seed: int,
    output: str,
    strict: bool,
    validate: bool,
) -> None:
    """Schedule the pods of some manifests on an embedded cluster, and show where they went.

    PATHs are files and folders of manifests: nodes, pods, and whatever they refer to, in YAML or
    JSON. Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets become pods. NodeMetrics
    (metrics.k8s.io) say what nodes use, and a ConfigMap may hold latencies, for the policies that
    ask. Nothing leaves this machine, and the code that decides is the code that runs in a cluster.

    With --nodes and --pods, tables of nodes and of pods that arrive, run and end, time passes as in
    a cluster, only faster, and the answer are KPIs.

    \b
    Examples:
      moorage simulate examples/demo/cluster examples/demo/workloads
      moorage simulate cluster/ app.yaml --config scheduler.yaml --plugin rules.py -o json
      moorage simulate --nodes nodes.csv --pods pods.csv --config scheduler.yaml
    """
    if nodes or pods or not paths or scenario_cmd.is_scenario(paths):
        scenario_cmd.play(paths, nodes, pods, config, plugins, seed, output)
        return
    known = plugin_files.load_plugins(plugins)
    loaded = read_configuration(config, known)
    objects = _readable(manifest_files.read_manifests(paths), strict)
    guard = loaded.moorage.plugin_guard
    ended = simulate(objects, loaded.configuration, known, seed, guard, validate=validate)
    told = build_report(ended)
    for warning in (*told.warnings, *told.refused, *told.notes):
        click.echo(f"warning: {warning}", err=True)
    _write(told, output)


def _readable(found: list[Manifest], strict: bool) -> list[Manifest]:
    """The manifests that scheduling reads, each object once."""
    kept: list[Manifest] = []
    problems: list[str] = []
    seen: dict[tuple[str, str, str], Manifest] = {}
    for manifest in found:
        raw = manifest.raw
        if not manifest.kind:
            problems.append(f"{manifest.place}: kind: missing")
        elif not _is_read(raw):
            note = f"{manifest.place}: {manifest.kind} {manifest.name} is not read by scheduling"
            if strict:
                problems.append(f"{note} (--strict)")
            else:
                click.echo(f"warning: {note}; skipped", err=True)
        else:
            _keep(manifest, seen, kept, problems)
    if problems:
        raise InputError(problems)
    return kept


def _is_read(raw: dict[str, Any]) -> bool:
    kept = manifest_loader.find_resource(raw)
    return kept is not None or simulated_feeds.is_read_by_feeds(raw)


def _keep(
    manifest: Manifest,
    seen: dict[tuple[str, str, str], Manifest],
    kept: list[Manifest],
    problems: list[str],
) -> None:
    metadata = manifest.raw.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        problems.append(f"{manifest.place}: {manifest.kind}: metadata.name: missing")
        return
    key = (manifest.kind, str(metadata.get("namespace") or "default"), manifest.name)
    first = seen.get(key) if manifest.name else None
    if first is not None:
        problems.append(
            f"{manifest.place}: {manifest.kind} {manifest.name} is already in {first.place}"
        )
        return
    seen[key] = manifest
    kept.append(manifest)


def _write(told: Report, output: str) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(told)))
    elif output == "yaml":
        click.echo(yaml.safe_dump(told.as_data(), sort_keys=False), nl=False)
    else:
        print_report(told, Console(width=None if sys.stdout.isatty() else 160))
