"""Room that is held for a group: on which nodes, how much, and when the group may start.

1. A pod without a group yields to every group of the same or a higher priority, unless it will
   have ended before the group can start. Only what Kubernetes enforces says so: a pod's
   `activeDeadlineSeconds`, which nobody may raise. Promises of its author would pass any hold.
2. Of two groups the one of lower rank yields. Rank is by priority, then by time of arrival. It is a
   total order, so groups never wait for each other in a circle.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.table import NodeTable
from moorage.gang.group import Group

_GRACE_SECONDS: Final = 30
"""How long a pod may take to end, unless it says so."""

Amounts = NDArray[np.int64]
Requests = Mapping[int, int]
Rank = tuple[int, float, str]


class Room(NamedTuple):
    """A number of pods, and the sum of their requests by resource index."""

    pods: int
    requests: Requests


class Hold:
    """The room held on each node for one group; `start` is when the group may start, if known.

    `tries` is how many attempts at the group had failed when the room was there first; None if
    pods have yet to leave.
    """

    __slots__ = ("_columns", "_version", "group", "rooms", "start", "tries")

    def __init__(
        self,
        group: Group,
        rooms: Mapping[str, Room],
        start: float = -math.inf,
        tries: int | None = None,
    ) -> None:
        self.group = group
        self.rooms = dict(rooms)
        self.start = start
        self.tries = tries
        self._version = -1
        self._columns: tuple[Amounts, Amounts] | None = None

    def columns(self, table: NodeTable) -> tuple[Amounts, Amounts]:
        """int64 (row) pods and int64 (resource, row) amounts that are held."""
        shape = table.requested.shape
        fresh = self._version == table.node_log.version
        if self._columns is None or not fresh or self._columns[1].shape != shape:
            self._columns = self._fill(table)
            self._version = table.node_log.version
        return self._columns

    def _fill(self, table: NodeTable) -> tuple[Amounts, Amounts]:
        height, capacity = table.requested.shape
        pods = np.zeros(capacity, dtype=np.int64)
        amounts = np.zeros((height, capacity), dtype=np.int64)
        for node, room in self.rooms.items():
            row = table.row_of.get(node)
            if row is not None:
                pods[row] = room.pods
                for resource, amount in room.requests.items():
                    amounts[resource, row] = amount
        return pods, amounts


class Holds:
    """The rooms held, by group."""

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}
        self.version = 0
        """Grows whenever a hold is set or dropped."""

    def put(self, hold: Hold) -> None:
        self._holds[hold.group.key] = hold
        self.version += 1

    def drop(self, key: str) -> bool:
        """Drop the hold of a group; whether there was one."""
        dropped = self._holds.pop(key, None) is not None
        self.version += dropped
        return dropped

    def get(self, key: str) -> Hold | None:
        return self._holds.get(key)

    def __len__(self) -> int:
        return len(self._holds)

    def __iter__(self) -> Iterator[Hold]:
        return iter(list(self._holds.values()))

    def over(self, pod: Pod, own: Group | None, now: float) -> list[Hold]:
        """The holds that a pod must yield to."""
        return [hold for hold in self._holds.values() if _yields(pod, own, hold, now)]


def total(holds: list[Hold], table: NodeTable) -> tuple[Amounts, Amounts]:
    """The sum of several holds, as `Hold.columns` gives it."""
    pods, amounts = holds[0].columns(table)
    for hold in holds[1:]:
        more, further = hold.columns(table)
        pods, amounts = pods + more, amounts + further
    return pods, amounts


def rank(group: Group) -> Rank:
    """A sort key: groups with a smaller one are served earlier."""
    arrived = math.inf if group.arrived is None else group.arrived
    return -group.priority, arrived, group.key


def duration(pod: Pod) -> float | None:
    """The seconds after which Kubernetes will have ended the pod; None if it may run for ever."""
    deadline, grace = pod.spec.active_deadline_seconds, pod.spec.termination_grace_period_seconds
    if deadline is None:
        return None
    return deadline + (_GRACE_SECONDS if grace is None else grace)


def _yields(pod: Pod, own: Group | None, hold: Hold, now: float) -> bool:
    if own is hold.group:
        return False
    if own is not None and own.minimum >= 1:
        return rank(hold.group) < rank(own)
    if pod.priority > hold.group.priority:
        return False
    seconds = duration(pod)
    return seconds is None or now + seconds > hold.start
