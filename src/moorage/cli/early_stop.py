"""SIGTERM and SIGINT while a command that serves is still starting: it ends with 0.

Importing the engine and reading the configuration take a second, in which nothing has begun that
would have to be finished. The process installs its own handlers in place of this one.
"""

import os
import signal
from collections.abc import Sequence
from types import FrameType
from typing import Final

SERVING: Final = frozenset({"run", "extender", "probe"})


def install(argv: Sequence[str]) -> None:
    """Have a command that serves end in good order from now on."""
    if len(argv) > 1 and argv[1] in SERVING:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """No exception: raised in the middle of an import it may be lost."""
    os._exit(0)
