"""`moorage simulate`: the scheduler on an embedded cluster."""

import sys
from typing import Any

import click
import msgspec
import yaml
from rich.console import Console

from moorage.api import kinds
from moorage.cli import plugin_loading, rendering
from moorage.cli.configuration import configuration
from moorage.cli.failing import failing_clearly
from moorage.simulate import feeding, manifests, workloads
from moorage.simulate.manifests import InputError, Manifest
from moorage.simulate.reporting import Report, report
from moorage.simulate.running import simulate


@click.command("simulate", short_help="Schedule manifests on an embedded cluster.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
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
@failing_clearly
def simulate_command(
    paths: tuple[str, ...],
    config: str | None,
    plugins: tuple[str, ...],
    seed: int,
    output: str,
    strict: bool,
) -> None:
    """Schedule the pods of some manifests on an embedded cluster, and show where they went.

    PATHs are files and folders of manifests: nodes, pods, and whatever they refer to, in YAML or
    JSON. Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets become pods. NodeMetrics
    (metrics.k8s.io) say what nodes use, and a ConfigMap may hold latencies, for the policies that
    ask. Nothing leaves this machine, and the code that decides is the code that runs in a cluster.

    \b
    Examples:
      moorage simulate examples/demo/cluster examples/demo/workloads
      moorage simulate cluster/ app.yaml --config scheduler.yaml --plugin rules.py -o json
    """
    known = plugin_loading.load(plugins)
    loaded = configuration(config, known)
    objects = _readable(workloads.expand(manifests.read(paths)), strict)
    guard = loaded.moorage.plugin_guard
    told = report(simulate(objects, loaded.configuration, known, seed, guard))
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
    known = kinds.find(str(raw.get("apiVersion") or ""), str(raw["kind"]))
    return known is not None or feeding.is_read(raw)


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
        rendering.show(told, Console(width=None if sys.stdout.isatty() else 160))
