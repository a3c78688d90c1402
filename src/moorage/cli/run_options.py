"""The options of `moorage run`."""

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click
import msgspec

from moorage.observe.log_formats import Format

F = TypeVar("F", bound=Callable[..., Any])


class Options(msgspec.Struct, frozen=True):
    """What was given on the command line."""

    config: str
    config_maps: tuple[str, ...]
    policies: tuple[str, ...]
    reload_interval: float
    kubeconfig: str
    context: str
    plugins: tuple[str, ...]
    seed: int | None
    request_seconds: float
    bind_address: str
    secure_port: int
    http_port: int
    tls_cert_file: str
    tls_private_key_file: str
    cert_dir: str
    verbosity: int
    log_format: Format


_PORT = click.IntRange(min=0, max=65535)
_OPTIONS = (
    click.option(
        "--config",
        default="",
        metavar="FILE",
        help="A KubeSchedulerConfiguration: the profiles to run, the lease to hold, the pace to "
        "keep. SchedulingPolicy and ProfileCanary documents may stand beside it. Read again when "
        "it changes.",
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
        help="Where the API server is and who we are. [default: clientConnection.kubeconfig of the "
        "configuration; inside a pod, its service account; $KUBECONFIG; ~/.kube/config]",
    ),
    click.option(
        "--context", default="", metavar="NAME", help="The context of the kubeconfig to use."
    ),
    click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="FILE.py|MODULE:CLASS",
        help="A plugin to know besides the installed ones; may be repeated.",
    ),
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
        help="How long one request may take.",
    ),
    click.option(
        "--bind-address",
        default="0.0.0.0",
        show_default=True,
        metavar="IP",
        help="Where to serve health, metrics and the configuration.",
    ),
    click.option(
        "--secure-port",
        type=_PORT,
        default=10259,
        show_default=True,
        metavar="PORT",
        help="The port to serve them at over HTTPS; 0: do not.",
    ),
    click.option(
        "--http-port",
        type=_PORT,
        default=0,
        metavar="PORT",
        help="Serve them over HTTP, too, to this machine only. [default: no]",
    ),
    click.option(
        "--tls-cert-file",
        default="",
        metavar="FILE",
        help="The certificate to serve with. [default: one signed by ourselves]",
    ),
    click.option("--tls-private-key-file", default="", metavar="FILE", help="The key to it."),
    click.option(
        "--cert-dir",
        default="",
        metavar="FOLDER",
        help="Where to keep a certificate signed by ourselves. [default: nowhere]",
    ),
    click.option(
        "-v",
        "--v",
        "verbosity",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="N",
        help="How much to say: 0 what matters, 2 decisions, 4 bindings, 10 everything.",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Lines to read, or JSON to collect.",
    ),
)


def run_options(command: F) -> F:
    """Give a command these options, in this order."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)
