"""Input at fault ends a command with one clear message and exit code 2, never a traceback."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from moorage.config.problems import ConfigError
from moorage.framework.registry import RegistryError
from moorage.simulate.manifests import InputError

P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT = 2


def failing_clearly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors in what the user gave into messages on standard error."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (InputError, ConfigError, RegistryError) as error:
            for line in str(error).splitlines():
                click.echo(f"error: {line}", err=True)
            sys.exit(BAD_INPUT)

    return run
