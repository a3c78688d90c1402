"""How a command ends: exit codes, and signals while it is still starting."""

import os
import signal
from collections.abc import Sequence
from types import FrameType
from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""Something broke, or a plugin raised: what was asked for was not done as it should be."""
BAD_INPUT: Final = 2
PENDING: Final = 3
"""Pods are pending, and `--fail-on-pending` was given."""
INTERRUPTED: Final = 130

_SERVING: Final = frozenset({"run", "extender", "probe"})


def end_on_signals(argv: Sequence[str]) -> None:
    """Have SIGTERM and SIGINT end a command that serves with 0, until it installs its own handlers.

    Importing the engine and reading the configuration take a second, in which nothing has begun
    that would have to be finished.
    """
    if len(argv) > 1 and argv[1] in _SERVING:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """No exception: raised in the middle of an import it may be lost."""
    os._exit(0)
