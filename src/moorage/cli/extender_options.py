"""The options of `moorage extender serve`."""

import click
import msgspec

from moorage.cli import options
from moorage.cli.options import F
from moorage.observe.log_formats import Format


class Options(msgspec.Struct, frozen=True):
    """What was given on the command line."""

    config: str | None
    profile: str
    plugins: tuple[str, ...]
    more: tuple[str, ...]
    kubeconfig: str
    context: str
    no_cluster: bool
    serve_bind: bool
    bind_address: str
    port: int
    http: bool
    tls_cert_file: str
    tls_private_key_file: str
    cert_dir: str
    client_ca_file: str
    url: str
    stanza: bool
    verbosity: int
    log_format: Format


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
    options.PLUGIN,
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
    options.CONTEXT,
    click.option("--no-cluster", is_flag=True, help="Follow no cluster, even inside a pod."),
    click.option(
        "--serve-bind",
        is_flag=True,
        help="Bind pods, too, when asked to. Whoever can connect can then bind any pod: use it "
        "with --client-ca-file.",
    ),
    click.option("--bind-address", default="0.0.0.0", show_default=True, metavar="IP"),
    click.option(
        "--port",
        type=options.PORT,
        default=8888,
        show_default=True,
        metavar="PORT",
        help="Where to listen; 0: any free port.",
    ),
    click.option("--http", is_flag=True, help="Plain HTTP instead of HTTPS."),
    *options.CERTIFICATE,
    click.option(
        "--client-ca-file",
        default="",
        metavar="FILE",
        help="Answer only clients with a certificate of this authority.",
    ),
    click.option(
        "--url",
        default="",
        metavar="URL",
        help="Where kube-scheduler finds us, for --stanza. [default: this machine]",
    ),
    click.option(
        "--stanza",
        is_flag=True,
        help="Print what to paste into kube-scheduler's configuration, and end.",
    ),
    *options.logging("How much to say."),
)


def extender_options(command: F) -> F:
    """Give a command these options, in this order."""
    return options.given(_OPTIONS, command)
