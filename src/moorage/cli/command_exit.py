"""How a command ends: exit codes, and signals while it is still starting."""

import os
import signal
from collections.abc import Sequence
from types import FrameType
from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""Something failed, or a plugin raised: the result is incomplete."""
BAD_INPUT: Final = 2
PENDING: Final = 3
"""Pods are pending, and `--fail-on-pending` was given."""
INTERRUPTED: Final = 130

_SERVING: Final = frozenset({"run", "extender", "probe"})


def end_on_signals(argv: Sequence[str]) -> None:
    """Let SIGTERM and SIGINT end a serving command with 0, until it installs its own handlers.

    Importing the engine and reading the configuration take a second, in which nothing has begun
    that would need to be finished.
    """
    if len(argv) > 1 and argv[1] in _SERVING:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """Exit without an exception: one raised in the middle of an import may be lost."""
    os._exit(0)
