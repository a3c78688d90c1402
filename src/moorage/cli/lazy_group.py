"""A click group whose commands are imported only when they are run."""

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import click

from moorage import garbage


class LazyCommand(NamedTuple):
    """The module of a command, and its line in the list of commands."""

    module: str
    attribute: str
    short_help: str

    def load(self) -> click.Command:
        with garbage.importing() if self.module not in sys.modules else nullcontext():
            command = getattr(import_module(self.module), self.attribute)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(click.Group):
    """Lists its commands from a table, so that help imports none of them."""

    def __init__(self, *args: Any, lazy: Mapping[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.lazy, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = self.lazy.get(cmd_name)
        return super().get_command(ctx, cmd_name) if found is None else found.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self.lazy[name].short_help) for name in sorted(self.lazy)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
