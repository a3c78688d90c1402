"""Standard output and error: what is printed there, and if they are closed, full or not UTF-8."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

import click

from moorage.api.outside_text import printable
from moorage.cli.command_exit import BAD_INPUT

_UNWRITABLE: Final = {
    errno.ENOSPC: "is full: free some space, or write elsewhere",
    errno.EDQUOT: "is full: free some space, or write elsewhere",
    errno.EFBIG: "is full: the file may not grow any more",
    errno.EBADF: "is closed: send it to a file, or to /dev/null",
}


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, or bytes in UTF-8, with control characters shown instead of obeyed."""
    if isinstance(text, bytes):
        click.echo(printable(text.decode()).encode(), err=err, nl=nl)
    else:
        click.echo(printable(str(text)), err=err, nl=nl)


def prepare_streams() -> None:
    """Open closed streams, and escape characters that the encoding lacks."""
    sys.stdout = sys.stdout or _closed_stream(1)
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _closed_stream(descriptor: int) -> TextIO:
    """A stream that refuses writes; it keeps the descriptor from being reused by another file."""
    opened = os.open(os.devnull, os.O_RDONLY)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
    return open(descriptor, "w", closefd=False)


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect what plugins print to standard error; standard output is for results."""
    kept = sys.stdout
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = kept


def flush_output() -> None:
    """Flush standard output here, where a failure can be reported."""
    sys.stdout.flush()


def exit_on_unwritable(error: OSError) -> None:
    """Report why the output cannot be written, and write nothing more to it."""
    said = _UNWRITABLE.get(error.errno or 0, f"cannot be written: {error.strerror}")
    nowhere = _nowhere()
    with suppress(OSError):  # its buffer is flushed again when it is dropped
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    sys.stdout = nowhere
    echo(f"error: standard output {said}", err=True)
    sys.exit(BAD_INPUT)
