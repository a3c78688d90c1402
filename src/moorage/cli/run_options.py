"""The options of `moorage run`."""

from typing import Any

import click
import msgspec

from moorage.app.inputs import MetricFlags, RunOptions
from moorage.app.kube_flags import ConfigFlags
from moorage.app.serving_flags import ServingFlags
from moorage.cli import common, kube_scheduler_flags
from moorage.cli.common import F
from moorage.cli.record_options import RECORD
from moorage.cli.standard_streams import echo

_OPTIONS = (
    click.option(
        "--config",
        default="",
        metavar="FILE",
        help="A KubeSchedulerConfiguration: profiles, leader election, rate limits of requests. "
        "SchedulingPolicy and ProfileCanary documents may stand beside it. Read again when it "
        "changes.",
    ),
    click.option(
        "--config-map",
        "config_maps",
        multiple=True,
        metavar="NAMESPACE/NAME[:KEY]",
        help="A ConfigMap of the cluster with such documents, in place of --config or beside it; "
        "followed, so that an edit takes effect at once. May be repeated.",
    ),
    click.option(
        "--policies",
        multiple=True,
        metavar="FILE|FOLDER",
        help="SchedulingPolicy documents to read beside --config; may be repeated.",
    ),
    click.option(
        "--reload-interval",
        type=click.FloatRange(min=0),
        default=1.0,
        show_default=True,
        metavar="SECONDS",
        help="How often to look whether files have changed; 0: never, but on SIGHUP.",
    ),
    click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="The API server and its credentials. [default: clientConnection.kubeconfig of the "
        "configuration; inside a pod, its service account; $KUBECONFIG; ~/.kube/config]",
    ),
    common.CONTEXT,
    common.PLUGIN,
    click.option(
        "--dashboard",
        is_flag=True,
        help="Serve a dashboard at /dashboard/, read-only, to those whom the API server lets get "
        "it, and to this machine at --http-port; with --enable-explain it explains pods, too. "
        "[default: do not]",
    ),
    click.option(
        "--enable-explain",
        is_flag=True,
        help="Answer POST /debug/explain from the live cache, to those whom the API server lets "
        "post there, about what they may read themselves. [default: do not]",
    ),
    *RECORD,
    click.option(
        "--seed", type=int, help="Break ties by this seed, the same each time. [default: random]"
    ),
    click.option(
        "--request-timeout",
        "request_seconds",
        type=click.FloatRange(min=0.1),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long one request to the API server may take.",
    ),
    click.option(
        "--bind-address",
        type=common.ADDRESS,
        default="0.0.0.0",
        show_default=True,
        metavar="IP",
        help="Where to serve health, metrics and the configuration.",
    ),
    click.option(
        "--secure-port",
        type=common.PORT,
        default=10259,
        show_default=True,
        metavar="PORT",
        help="The port to serve them at over HTTPS; 0: do not.",
    ),
    click.option(
        "--http-port",
        type=common.PORT,
        default=0,
        metavar="PORT",
        help="Serve them over HTTP, too, to this machine only. [default: no]",
    ),
    *common.CERTIFICATE,
    click.option(
        "--otlp-endpoint",
        type=common.URL,
        default="",
        metavar="URL",
        help="Export traced attempts as OpenTelemetry spans to this collector, as in "
        "http://localhost:4318; needs the extra `otel`. [default: no]",
    ),
    *kube_scheduler_flags.FLAGS,
    *kube_scheduler_flags.SERVING_FLAGS,
    *common.log_options(
        "Verbosity of the log: 0 what matters, 2 decisions, 4 bindings, 5 each attempt's steps, "
        "10 everything."
    ),
)


def run_options(command: F) -> F:
    """Give a command these options, in this order."""
    return common.with_options(_OPTIONS, command)


def options_of(given: dict[str, Any]) -> RunOptions:
    """The given options, by subject; warns of flags without effect."""
    for line in kube_scheduler_flags.without_effect(given):
        echo(f"warning: {line}", err=True)
    own: RunOptions = _struct(RunOptions, given)
    return msgspec.structs.replace(
        own,
        flags=_struct(ConfigFlags, given),
        serving=_struct(ServingFlags, given),
        metrics=_struct(MetricFlags, given),
    )


def _struct(struct: Any, given: dict[str, Any]) -> Any:
    """A struct from the options with the names of its fields; other fields keep their defaults."""
    names = [field.name for field in msgspec.structs.fields(struct)]
    return struct(**{name: given[name] for name in names if given.get(name) is not None})
