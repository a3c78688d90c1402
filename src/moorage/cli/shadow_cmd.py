"""`moorage shadow`: what Moorage would have decided, beside what other schedulers decide."""

import asyncio
import shlex
import sys
from pathlib import Path

import click

from moorage.app import inputs
from moorage.app.config_bundle import ConfigBundle
from moorage.cli import comparison_output
from moorage.cli.command_exit import FAILED
from moorage.cli.common import CONTEXT, PLUGIN, PORT, TABLE_OR_JSON, exit_on_bad_input, warn
from moorage.cli.record_options import RecordTo, record_options, recording_to
from moorage.cli.scenario_options import CONFIGS, read_configurations
from moorage.cli.serve_options import DEFAULT_PORT
from moorage.cli.shadow_text import print_findings, progress_line
from moorage.cli.standard_streams import echo
from moorage.clock import SystemClock
from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.serve.secure_serving import ListenerError
from moorage.shadow.page import shadow_page
from moorage.shadow.session import NeverReadError, ShadowPlan, run_shadow
from moorage.simulate.report import page


@click.command("shadow", short_help="Compare with another scheduler, read-only.")
@CONTEXT
@click.option("--kubeconfig", default="", metavar="FILE", help="The kubeconfig to use.")
@CONFIGS
@PLUGIN
@click.option("--for", "length", metavar="DURATION", help="End after this time, as 10m or 1h30m.")
@click.option("--pods", type=click.IntRange(min=1), metavar="N", help="End after this many pods.")
@click.option(
    "--no-drift",
    is_flag=True,
    help="Judge single decisions only; do not follow where each configuration would have led.",
)
@click.option(
    "--keep",
    "journal",
    default="",
    metavar="FILE.jsonl",
    help="Append every judgement as a JSON line; what is in the file already counts, too.",
)
@click.option("--report", metavar="FILE.html", help="Also write the findings as one HTML page.")
@click.option(
    "--http-port",
    type=PORT,
    default=0,
    metavar="PORT",
    help="Serve /metrics and health on this port of 127.0.0.1.",
)
@click.option(
    "--dashboard",
    is_flag=True,
    help="Serve a dashboard, too, at /dashboard/ of --http-port, or of port 8090 without one.",
)
@record_options
@TABLE_OR_JSON
@exit_on_bad_input
def shadow_command(
    context: str,
    kubeconfig: str,
    configs: tuple[str, ...],
    plugins: tuple[str, ...],
    length: str | None,
    pods: int | None,
    no_drift: bool,
    journal: str,
    report: str | None,
    http_port: int,
    dashboard: bool,
    record: str,
    anonymize: bool,
    record_keep: str,
    output: str,
) -> None:
    """Watch a live cluster and say what each configuration would have decided.

    For every pod that any scheduler binds, or reports pending, each configuration decides on the
    cluster as it was just before; then the real decision is applied. Beside that, each
    configuration has a world of its own, where it decides all along. Only get, list and watch are
    sent to the cluster. Ctrl-C ends it and prints the result. The exit code is 2 if the cluster was
    never read, and 1 if a plugin failed; its errors are printed.

    \b
    Examples:
      moorage shadow --context prod
      moorage shadow --context prod --config a.yaml --config b.yaml --for 1h --report shadow.html
      moorage shadow --context prod --record cluster
      moorage shadow --kubeconfig shadow.conf --keep shadow.jsonl --http-port 9090
    """
    if report:
        page.check_target(report)
    candidates = read_configurations(configs, plugins)
    port = http_port or (DEFAULT_PORT if dashboard else 0)
    plan = ShadowPlan(_seconds(length), pods, not no_drift, journal, port, dashboard)
    selected = _selected(kubeconfig, context)
    echo(f"looking at {selected.cluster.server}, reading only; Ctrl-C ends it", err=True)
    if dashboard:
        echo(f"http://127.0.0.1:{port}/dashboard/", err=True)
    try:
        with recording_to(RecordTo(record, anonymize, record_keep)) as recording:
            first = candidates[0]
            recording.applied(ConfigBundle(first.load()), first.plugins(), plugins)
            looking = run_shadow(
                selected,
                candidates,
                plan,
                SystemClock(),
                progress_line,
                lambda line: warn([line]),
                recording.tap_of,
            )
            found = asyncio.run(looking)
    except (ListenerError, NeverReadError) as error:
        raise InputError([str(error)]) from None
    if report:
        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        shown = comparison_output.shown_kpis(found.worlds)
        page.write_page(shadow_page(found, candidates, shown, command), report)
    if output == "json":
        comparison_output.write_json(found.as_data())
    else:
        print_findings(found)
    if comparison_output.say_what_failed(found.worlds) or found.has_failed_judgements:
        sys.exit(FAILED)


def _seconds(length: str | None) -> float | None:
    try:
        return None if length is None else Duration.parse(length).seconds
    except ValueError:
        raise InputError(
            [f"--for {length}: write a length of time, as 30s, 10m or 1h30m"]
        ) from None


def _selected(kubeconfig: str, context: str) -> SelectedContext:
    try:
        return inputs.select_context(kubeconfig, context)
    except KubeconfigError as error:
        raise InputError([str(error)]) from None
