"""How a command ends on an error: one line that tells what is wrong, and an exit code.

1. A file cannot be read or written, or its contents are nested too deeply: 2. (Commands report
   other faults of their input themselves, with `exit_on_bad_input`.)
2. Standard output is closed or full: 2. A reader that has read enough, such as `head`: 1, silently.
3. Anything else is a bug of ours: the line tells where, MOORAGE_DEBUG=1 shows the traceback; 1.
"""

import os
import signal
import sys
import traceback
from types import FrameType
from typing import Any, Final, NoReturn

import click

from moorage.cli import command_exit, standard_streams
from moorage.cli.command_exit import BAD_INPUT, FAILED, INTERRUPTED
from moorage.cli.lazy_group import LazyGroup
from moorage.cli.standard_streams import echo

DEBUG: Final = "MOORAGE_DEBUG"


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; a plugin that raises KeyboardInterrupt does not raise this."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted


class RootGroup(LazyGroup):
    """The root command; it lets no traceback through."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        if not args and "args" not in kwargs:
            command_exit.end_on_signals(sys.argv)
        if not kwargs.get("standalone_mode", True):
            return super().main(*args, **kwargs)
        standard_streams.prepare_streams()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt)
        try:
            try:
                super().main(*args, **kwargs)
            finally:
                standard_streams.flush_output()
        except OSError as error:
            _exit_on_os_error(error)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, click.Abort, OSError):
            raise
        except RecursionError:
            _exit(_too_deep(ctx), BAD_INPUT)
        except KeyboardInterrupt:
            _exit("interrupted", INTERRUPTED)
        except MemoryError:
            _exit("out of memory: give less at once, or run it where there is more", FAILED)
        except Exception as error:
            _exit_on_error(error)


def _exit_on_os_error(error: OSError) -> NoReturn:
    if error.filename is None:
        standard_streams.exit_on_unwritable(error)
    _exit(f"{os.fsdecode(error.filename)}: {error.strerror}", BAD_INPUT)


def _exit_on_error(error: Exception) -> NoReturn:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}, line {frame.lineno}"
    said = " ".join(f"{type(error).__name__}: {error}".split())
    _exit(f"moorage is at fault: {said} ({place}); {DEBUG}=1 shows where it came from", FAILED)


def _too_deep(ctx: click.Context) -> str:
    return f"{ctx.invoked_subcommand}: something in the input is nested too deeply: flatten it"


def _exit(message: str, code: int) -> NoReturn:
    echo(f"error: {message}", err=True)
    sys.exit(code)
