"""`moorage simulate`: the scheduler on an embedded cluster."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec
import yaml

from moorage import garbage
from moorage.app.config_bundle import ConfigBundle
from moorage.cli import common, scenario_cmd
from moorage.cli.cluster_options import VALIDATE, ClusterChoice, ManifestCommand
from moorage.cli.command_exit import FAILED, PENDING
from moorage.cli.common import exit_on_bad_input
from moorage.cli.record_options import RecordTo, record_options, recording_to
from moorage.cli.serve_options import SERVE, refuse_port_without
from moorage.cli.simulate_text import csv_text, print_errors, print_report
from moorage.cli.stage_progress import StageProgress
from moorage.cli.standard_streams import echo, stdout_to_stderr
from moorage.cli.terminal import Terminal
from moorage.config.field_errors import InputError
from moorage.simulate import what_if
from moorage.simulate.simulation import Simulation
from moorage.simulate.simulation_report import Report, build_report

if TYPE_CHECKING:
    from moorage.cli.finished_run import FinishedRun
    from moorage.dashboard.sources import Explain

_WIDTH = 160
"""The width of tables that go to a file or a pipe."""
_MANY_PODS = 1000
"""From this many pods on, freeing the objects of a run takes noticeably long."""
_NARROWEST = 40
"""The least width of tables. A narrower terminal folds lines; a narrower table loses columns."""


@click.command(
    "simulate", cls=ManifestCommand, short_help="Schedule manifests on an embedded cluster."
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@common.LIVE_CLUSTER[0]
@common.LIVE_CLUSTER[1]
@click.option("--nodes", metavar="CSV", help="A table of nodes, instead of manifests.")
@click.option("--pods", metavar="CSV", help="A table of pods with arrivals and durations.")
@click.option("--config", "config", metavar="FILE", help="A KubeSchedulerConfiguration.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py|MODULE:CLASS",
    help="A plugin to load beside the built-in and installed ones; may be repeated.",
)
@click.option("--seed", default=0, show_default=True, help="Ties are broken by this seed.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml", "csv"]),
    default="table",
    show_default=True,
    help="A summary, every pod and node, or data to process.",
)
@click.option("--only", type=click.Choice(["pending", "placed"]), help="Show these pods alone.")
@click.option("--namespace", "-n", metavar="NAME", help="Show the pods of this namespace alone.")
@click.option("--node", metavar="NAME", help="Show this node, and the pods on it, alone.")
@click.option(
    "--add-node",
    "added",
    multiple=True,
    metavar="COUNT=FILE",
    help="What if there were more nodes?",
)
@click.option("--drain", "drained", multiple=True, metavar="NODE", help="What if it were drained?")
@click.option(
    "--scale",
    "scaled",
    multiple=True,
    metavar="KIND/NAME=COUNT",
    help="What if a workload had so many pods?",
)
@record_options
@click.option("--fail-on-pending", is_flag=True, help="End with 3 where a pod is pending.")
@click.option("--strict", is_flag=True, help="Refuse kinds that scheduling does not read.")
@SERVE[0]
@SERVE[1]
@VALIDATE
@exit_on_bad_input
def simulate_command(
    paths: tuple[str, ...],
    context: str | None,
    kubeconfig: str | None,
    nodes: str | None,
    pods: str | None,
    config: str | None,
    plugins: tuple[str, ...],
    seed: int,
    output: str,
    only: str | None,
    namespace: str | None,
    node: str | None,
    added: tuple[str, ...],
    drained: tuple[str, ...],
    scaled: tuple[str, ...],
    record: str,
    anonymize: bool,
    record_keep: str,
    fail_on_pending: bool,
    strict: bool,
    serve: bool,
    http_port: int,
    validate: bool,
) -> None:
    """Schedule the pods of some manifests on an embedded cluster, and show where they went.

    PATHs are files and folders of manifests, or `-` for standard input: nodes, pods, and whatever
    they refer to, in YAML or JSON. Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets
    become pods. SchedulingPolicies, by themselves or in ConfigMaps, are applied by profiles that
    run the plugin of that name. NodeMetrics (metrics.k8s.io) say what nodes use, and a ConfigMap
    may hold latencies or prices, for the policies that ask. Nothing leaves this machine, unless the
    configuration names extenders, which are asked; the code that decides is the code that runs in a
    cluster.

    With --context or --kubeconfig a live cluster is read first, with lists only: the manifests are
    scheduled beside what is there. `moorage snapshot` keeps such a cluster in a file.

    With --nodes and --pods, tables of nodes and of pods that arrive, run and end, time passes as in
    a cluster, only faster, and the answer are KPIs. So it does with a scenario file. Options that
    change manifests, or choose among pods and nodes, are refused then.

    \b
    Examples:
      moorage simulate examples/demo/cluster examples/demo/workloads
      moorage simulate cluster/ app.yaml --config scheduler.yaml --plugin rules.py -o json
      kubectl get nodes,pods -A -o json | moorage simulate - --drain node-3 --only pending
      moorage simulate cluster.yaml app.yaml --scale deployment/web=20 --add-node 3=node.yaml
      moorage simulate --context staging app.yaml
      moorage simulate --nodes nodes.csv --pods pods.csv --config scheduler.yaml
      moorage simulate cluster.yaml app.yaml --serve

    The exit code is 0, or 1 where a plugin raised or the run had to be ended, 2 where the input is
    at fault, and 3 with --fail-on-pending where a pod is pending.
    """
    live = context is not None or kubeconfig is not None
    in_time = bool(nodes or pods) or scenario_cmd.is_scenario(paths)
    if in_time:
        scenario_cmd.refuse_options_of_manifests(output)
    if not serve:
        refuse_port_without("--serve")
    run = _finished_run(http_port) if serve else None
    kept = RecordTo(record, anonymize, record_keep)
    if in_time or not (paths or live):
        played = paths, nodes, pods, config, plugins, seed, output
        sys.exit(scenario_cmd.play(*played, fail_on_pending, run, kept))
    reading = StageProgress("reading manifests")
    with stdout_to_stderr(), garbage.collected_rarely(), reading as progress:
        choice = ClusterChoice(
            paths,
            context or "",
            kubeconfig or "",
            config=config,
            plugins=plugins,
            seed=seed,
            validate=validate,
            strict=strict,
        )
        given = choice.read()
        objects = what_if.add_nodes(given.objects, added)
        objects = what_if.scale_workloads(objects, scaled)
        objects = what_if.drain_nodes(objects, drained)
        seen = () if run is None else run.observers
        with recording_to(kept) as recording:
            recording.applied(ConfigBundle(given.loaded), given.known, plugins)
            given = given._replace(objects=objects)
            ran = choice.simulated(given, progress, seen, recording.tap_of)
        told = build_report(ran)
    common.warn((*told.warnings, *told.refused, *told.notes))
    if not told.nodes:
        echo("warning: there is no Node in the input, so no pod can be placed", err=True)
    _write(_selected(told, only, namespace, node), output)
    print_errors(told, Terminal(stderr=True))
    if run is not None:
        run.serve(ran.scheduler, _explain(ran))
    if len(told.pods) >= _MANY_PODS:
        garbage.leave_behind(given, objects, ran, told)
    sys.exit(_exit_code(told, fail_on_pending))


def _finished_run(port: int) -> "FinishedRun":
    """Serves the run on a dashboard; imported late, because few use it and it imports slowly."""
    from moorage.cli.finished_run import FinishedRun

    return FinishedRun(port)


def _explain(ran: Simulation) -> "Explain":
    """Explains pods of a finished run, as `moorage explain` would."""
    from moorage.explain.sources import from_simulation  # few use it, and it imports slowly

    source = from_simulation(ran)

    async def explain(pod: str) -> Any:
        try:
            return source.explain(pod)
        except InputError as error:
            raise LookupError(str(error)) from None

    return explain


def _exit_code(told: Report, fail_on_pending: bool) -> int:
    if told.failed:
        return FAILED
    return PENDING if fail_on_pending and any(pod.is_pending for pod in told.pods) else 0


def _selected(told: Report, only: str | None, namespace: str | None, node: str | None) -> Report:
    """The report, reduced to some pods and nodes."""
    pods = tuple(
        pod
        for pod in told.pods
        if (only is None or pod.is_pending == (only == "pending"))
        and (namespace is None or pod.namespace == namespace)
        and (node is None or pod.node == node)
    )
    nodes = tuple(each for each in told.nodes if node is None or each.name == node)
    if node is not None and not nodes:
        raise InputError([f"--node {node}: there is no such node"])
    return msgspec.structs.replace(told, pods=pods, nodes=nodes)


def _write(told: Report, output: str) -> None:
    if output == "json":
        echo(msgspec.json.format(msgspec.json.encode(told)))
    elif output == "yaml":
        text = yaml.safe_dump(told.as_data(), sort_keys=False, allow_unicode=True)
        echo(text.encode(), nl=False)
    elif output == "csv":
        echo(csv_text(told).encode(), nl=False)
    else:
        wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH
        console = Terminal(width=wide)
        console.width = max(console.width, _NARROWEST)
        print_report(told, console, wide=output == "wide")
