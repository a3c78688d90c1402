"""How much of the machine others use meanwhile.

The CPU time of the whole machine, less that of this process and of all children that ended.
"""

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

TICKS: Final = os.sysconf("SC_CLK_TCK")
IDLE: Final = (3, 4)
"""Of the columns of /proc/stat: idle, and waiting for a disk."""
GUEST: Final = 8
"""From here on columns repeat what others have counted."""


class Usage(NamedTuple):
    """Seconds of CPU so far: those that passed on all cores, those in use, and those of ours."""

    offered: float
    used: float
    own: float


def usage() -> Usage:
    """As it is now; of our own, without children that still run."""
    cores = os.cpu_count() or 1
    return Usage(time.monotonic() * cores, machine_seconds(), _own_seconds())


class Contention:
    """Counts from where it is made."""

    def __init__(self, read: Callable[[], Usage] = usage) -> None:
        self._read = read
        self._began = read()

    def others(self) -> float:
        """The part of the machine that others have used; children must have ended by now."""
        offered, used, own = (a - b for a, b in zip(self._read(), self._began, strict=True))
        return max(used - own, 0.0) / offered if offered else 0.0


def machine_seconds() -> float:
    """Seconds of CPU that were used so far, by anybody."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    busy = (value for at, value in enumerate(fields[:GUEST]) if at not in IDLE)
    return sum(busy) / TICKS


def _own_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)
