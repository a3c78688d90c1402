"""What commands share: common options, and exit code 2 with a message on bad input."""

import functools
import ipaddress
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from functools import reduce
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from moorage.api.name_validation import subdomain_faults
from moorage.cli.command_exit import BAD_INPUT, FAILED
from moorage.cli.standard_streams import echo
from moorage.config.field_errors import ConfigError, InputError
from moorage.framework.plugin_registry import RegistryError
from moorage.framework.verdicts import PluginError

P = ParamSpec("P")
R = TypeVar("R")


def exit_on_bad_input(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors in the user's input, and in plugins, into messages on standard error."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (InputError, ConfigError, RegistryError) as error:
            for line in str(error).splitlines():
                echo(f"error: {line}", err=True)
            sys.exit(BAD_INPUT)
        except PluginError as error:
            echo(f"error: {error}", err=True)
            sys.exit(FAILED)

    return run


def given_options(names: Container[str]) -> dict[str, str]:
    """The options among these parameters that the user gave to the running command, by name."""
    ran = click.get_current_context()
    return {
        each.name: each.opts[0]
        for each in ran.command.params
        if each.name in names and ran.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
    }


def warn(lines: Iterable[str]) -> None:
    """Print warnings on standard error, each in one line."""
    for line in lines:
        echo(f"warning: {' '.join(line.split())}", err=True)


F = TypeVar("F", bound=Callable[..., Any])

PORT: Final = click.IntRange(min=0, max=65535)


class AddressType(click.ParamType[str]):
    """An address to listen on: an IP address, a name of this host, or "" for all addresses."""

    name = "address"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        if value and not _is_address(value):
            self.fail(f"{value!r} is not an IP address, such as 0.0.0.0 or ::1", param, ctx)
        return value


def _is_address(text: str) -> bool:
    if ":" not in text and not text[-1].isdigit():
        return not subdomain_faults(text.lower())
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class UrlType(click.ParamType[str]):
    """The URL of a server, or nothing."""

    name = "url"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        if value and not is_url(value):
            self.fail(
                f"{value!r} is not a URL: write http://HOST:PORT or https://HOST:PORT", param, ctx
            )
        return value


def is_url(text: str) -> bool:
    """Whether it is the URL of a server that speaks HTTP."""
    try:
        found = urlsplit(text)
        return found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        return False


ADDRESS: Final = AddressType()
URL: Final = UrlType()

CONTEXT: Final = click.option(
    "--context", default="", metavar="NAME", help="The context of the kubeconfig to use."
)
LIVE_CLUSTER: Final = (
    click.option(
        "--context",
        metavar="NAME",
        help="Read the live cluster of this context of the kubeconfig; only lists are asked for.",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Read the live cluster of this kubeconfig. [default: $KUBECONFIG; ~/.kube/config]",
    ),
)
"""Which live cluster a command reads; both are None if not given."""

PLUGIN: Final = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py|MODULE:CLASS",
    help="A plugin to load beside the built-in and installed ones; may be repeated.",
)
TABLE_OR_JSON: Final = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A table to read, or data to process.",
)
CERTIFICATE: Final = (
    click.option(
        "--tls-cert-file",
        default="",
        metavar="FILE",
        help="The certificate to serve with. [default: a self-signed one]",
    ),
    click.option("--tls-private-key-file", default="", metavar="FILE", help="Its private key."),
    click.option(
        "--cert-dir",
        default="",
        metavar="FOLDER",
        help="Where to keep a self-signed certificate. [default: in memory only]",
    ),
)


def log_options(verbosity: str) -> tuple[Any, ...]:
    """The options for the amount of logging, described by `verbosity`, and for its format."""
    return (
        click.option(
            "-v",
            "--v",
            "verbosity",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            metavar="N",
            help=verbosity,
        ),
        click.option(
            "--log-format",
            "--logging-format",
            "log_format",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="The format of log lines: klog text, or JSON.",
        ),
    )


def with_options(options: Sequence[Any], command: F) -> F:
    """A command with these options, in this order."""
    return reduce(lambda made, option: option(made), reversed(options), command)
