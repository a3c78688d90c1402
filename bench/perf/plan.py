"""Which workloads come first, and how long they will take.

1. Every case has its turn before any has a second, so that a run that ends early has something of
   each; families of cases (`dra`, `volumes`) take turns in that.
2. Of a case the size that says most comes first: of those for performance the one with the most
   nodes, of these the one with the fewest pods, but enough of them to tell how fast they are
   scheduled.
"""

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from itertools import zip_longest
from typing import Final, TypeVar

from bench.perf.cases import Workload
from bench.perf.operations import seconds
from bench.perf.report import ENOUGH

T = TypeVar("T")
WAITING: Final = ("EventHandling", "Starvation", "Gated")
"""Cases in which pods have to wait for others, or for ever."""
WHOLE_GROUPS: Final = ("DisruptionAll", "GangPreemptionPodGroups")
"""Workloads in which pods leave with their group: who leaves for whom has to be decided."""
START_SECONDS: Final = 12.0
"""A control plane, a scheduler, and their end."""
SHORT: Final = 500
ROUNDS_OF_SHORT: Final = 5
OBJECTS_PER_SECOND: Final = 250.0
"""Pods and nodes that two cores create, and schedule, in a second."""


def in_order(workloads: Iterable[Workload]) -> list[Workload]:
    """The most telling of each case first, families in turns; then the second of each."""
    cases = _in_turns(sorted(workloads, key=_rank), lambda workload: workload.case)
    ordered: list[Workload] = []
    for turn in zip_longest(*cases):
        families = _in_turns(filter(None, turn), lambda each: each.topic.partition("/")[0])
        ordered += _merged(families)
    return ordered


def binds_at_once(workload: Workload) -> bool:
    """Whether every pod may be bound as soon as there is room, if nobody asks where."""
    waits = any(word in workload.key for word in (*WAITING, *WHOLE_GROUPS))
    return not waits and not workload.gates.get("DynamicResourceAllocation")


def rounds(workload: Workload) -> int:
    """How often a workload is run with each scheduler, in turns: short ones are soon disturbed."""
    return ROUNDS_OF_SHORT if ENOUGH <= workload.pods < SHORT else 1


def expected_seconds(workload: Workload, known: float | None = None) -> float:
    """How long a workload takes with one scheduler, by its last run or by its size."""
    if known is not None:
        return known
    objects = workload.nodes + workload.pods
    return START_SECONDS + objects / OBJECTS_PER_SECOND + _lasting(workload)


class Budget:
    """So many minutes from now on; 0: as long as it takes."""

    def __init__(self, minutes: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._seconds = minutes * 60 if minutes else float("inf")

    @property
    def used(self) -> float:
        """Minutes since it began."""
        return (self._now() - self._began) / 60

    def has_room(self, seconds: float) -> bool:
        return self._now() - self._began + seconds <= self._seconds

    def __str__(self) -> str:
        limit = f" of {self._seconds / 60:.0f}" if self._seconds < float("inf") else ""
        return f"{self.used:.1f}{limit} min"


def _rank(workload: Workload) -> tuple[bool, bool, int, int]:
    is_small = workload.pods < ENOUGH and not _lasting(workload)
    return "performance" not in workload.labels, is_small, -workload.nodes, workload.pods


def _lasting(workload: Workload) -> float:
    """How long a workload goes on however fast pods are scheduled."""
    return sum(seconds(op.get("duration", "")) for op in workload.operations)


def _in_turns(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items of each key, in their order."""
    found: dict[Hashable, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())


def _merged(lists: Iterable[list[T]]) -> list[T]:
    """The first of each list, then the second of each."""
    waiting = deque(deque(each) for each in lists if each)
    merged = []
    while waiting:
        turn = waiting.popleft()
        merged.append(turn.popleft())
        if turn:
            waiting.append(turn)
    return merged
