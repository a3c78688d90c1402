"""The options of `moorage extender serve`."""

import click

from moorage.cli import common
from moorage.cli.common import F

_OPTIONS = (
    click.option(
        "--config",
        metavar="FILE",
        help="A KubeSchedulerConfiguration whose profile names the plugins, with their arguments "
        "and weights. [default: each --plugin, with its default arguments]",
    ),
    click.option(
        "--profile",
        default="",
        metavar="NAME",
        help="The profile of the configuration that answers. [default: the first]",
    ),
    common.PLUGIN,
    click.option(
        "--run",
        "more",
        multiple=True,
        metavar="NAME",
        help="Let this plugin of kube-scheduler's own answer, too; may be repeated. [default: only "
        "plugins that kube-scheduler does not have]",
    ),
    click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="Follow this cluster, and be asked about nodes by name (nodeCacheCapable). [default: "
        "inside a pod, its own; else none: whole nodes come with each request]",
    ),
    common.CONTEXT,
    click.option("--no-cluster", is_flag=True, help="Follow no cluster, even inside a pod."),
    click.option(
        "--serve-bind",
        is_flag=True,
        help="Bind pods, too, when asked to; only with --client-ca-file.",
    ),
    click.option(
        "--bind-address", type=common.ADDRESS, default="0.0.0.0", show_default=True, metavar="IP"
    ),
    click.option(
        "--port",
        type=common.PORT,
        default=8888,
        show_default=True,
        metavar="PORT",
        help="Where to listen; 0: any free port.",
    ),
    click.option("--http", is_flag=True, help="Plain HTTP instead of HTTPS."),
    *common.CERTIFICATE,
    click.option(
        "--client-ca-file",
        default="",
        metavar="FILE",
        help="Answer only clients with a certificate of this authority. [default: on loopback, "
        "anybody; elsewhere, it must be given]",
    ),
    click.option(
        "--anonymous",
        is_flag=True,
        help="Beyond loopback, too, answer clients without a certificate.",
    ),
    click.option(
        "--url",
        default="",
        metavar="URL",
        help="The URL at which kube-scheduler reaches this server, for --stanza. [default: this "
        "machine]",
    ),
    click.option(
        "--stanza",
        is_flag=True,
        help="Print what to paste into kube-scheduler's configuration, and end.",
    ),
    *common.log_options("The verbosity of the log."),
)


def extender_options(command: F) -> F:
    """Give a command these options, in this order."""
    return common.with_options(_OPTIONS, command)
