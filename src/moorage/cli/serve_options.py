"""The options `--serve` and `--http-port`, declared without importing the dashboard."""

from typing import Final

import click

from moorage.cli.common import PORT, given_options
from moorage.config.field_errors import InputError

DEFAULT_PORT: Final = 8090
SERVE: Final = (
    click.option(
        "--serve",
        is_flag=True,
        help="Afterwards, show the cluster and every decision on a dashboard, until Ctrl-C.",
    ),
    click.option(
        "--http-port",
        type=PORT,
        default=DEFAULT_PORT,
        show_default=True,
        metavar="PORT",
        help="The port of 127.0.0.1 that --serve serves it at; 0: any free one.",
    ),
)


def refuse_port_without(flag: str) -> None:
    """Raise an InputError if a port was given although nothing is served."""
    if given_options({"http_port"}):
        raise InputError([f"--http-port: nothing is served without {flag}"])
