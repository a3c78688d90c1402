"""When and where a group will have room first, judging by what runs and how long it says it will.

1. Pods end in the order of the durations they declare; of pods that declare none nothing is known,
   and they are thought away last, on the least occupied nodes first.
2. Pods are thought away one by one until the group fits. What it would then use is the room to
   hold, and the end of the last of them is when the group may start, if that is known.

Arithmetic alone, about resources and numbers of pods, on nodes that the rules about nodes allow:
no pod is moved. Pods of a class are taken to be alike.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.column_cache import Depends
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.cycle import filtering
from moorage.cycle.filtering import Filtering, Mask
from moorage.cycle.profile import Profile
from moorage.cycle.promised_rows import Usage
from moorage.framework.cycle import Cycle
from moorage.gang.holds import Hold, Room, total

Amounts = NDArray[np.int64]
Ends = Callable[[PodInfo], float]
UNKNOWN = -math.inf
"""The start of a group of which nobody can say when it may start."""


class Need(NamedTuple):
    """Pods that are alike: how many, what each asks for, and where it may run: bool (row)."""

    pods: int
    asked: dict[int, int]
    rows: Mask


class Foresight(NamedTuple):
    """The room to hold, by node, and when the group may start."""

    rooms: dict[str, Room]
    start: float


class Release(NamedTuple):
    """A pod that will leave a row; of two that end at an unknown time the lighter row's first."""

    end: float
    weight: int
    row: int
    info: PodInfo


def eligible(profile: Profile, cycle: Cycle) -> Mask:
    """bool (row): the nodes that the rules about nodes allow a pod, whatever runs there."""
    outcome = Filtering(cycle)
    filtering.pre_filter(profile, cycle, outcome)
    rows = cycle.table.alive[: cycle.table.rows].copy()
    if outcome.diagnosis.pre_filter is not None:
        rows[:] = False
        return rows
    if outcome.narrowed is not None:
        named = [cycle.table.row_of.get(name) for name in outcome.narrowed]
        inside = np.zeros_like(rows)
        inside[[row for row in named if row is not None]] = True
        rows &= inside
    for entry in outcome.active:
        if entry.vector and entry.plugin.depends == Depends.NODE:
            refused = filtering.codes(profile, cycle, entry)
            if refused is not None:
                rows &= refused == 0
    return rows


def joined(needs: Sequence[Need]) -> list[Need]:
    """The same, with those as one that ask for the same on the same nodes."""
    found: dict[tuple[tuple[tuple[int, int], ...], bytes], Need] = {}
    for need in needs:
        key = tuple(sorted(need.asked.items())), need.rows.tobytes()
        known = found.get(key)
        found[key] = need if known is None else need._replace(pods=known.pods + need.pods)
    return list(found.values())


def foresee(
    table: NodeTable, needs: Sequence[Need], ends: Ends, now: float, others: list[Hold]
) -> Foresight | None:
    """The first room that a group will have; None where it will have none, whatever ends."""
    free, slots = _left(table, others)
    releases = _releases(table, ends)
    rooms: dict[int, Counter[int]] = {}
    pods: Counter[int] = Counter()
    start = now
    for need in needs:
        found = _one(free, slots, need, releases)
        if found is None:
            return None
        counts, ready = found
        start = max(start, ready)
        for row, count in counts.items():
            pods[row] += count
            slots[row] -= count
            for index, asked in need.asked.items():
                rooms.setdefault(row, Counter())[index] += count * asked
                free[index, row] -= count * asked
    held = {table.node(row).name: Room(pods[row], rooms.get(row, {})) for row in pods}
    return Foresight(held, UNKNOWN if start == math.inf else start)


def walk(
    table: NodeTable,
    need: Need,
    leaving: Sequence[Sequence[tuple[int, PodInfo]]],
    promised: Usage | None = None,
) -> int:
    """After how many departures, at least, there is room; more than there are where there is not.

    Each departure is of some pods from their rows; what was `promised` to others is no room.
    """
    free, slots = _left(table, [])
    if promised is not None:
        free, slots = free - promised.requested, slots - promised.pods
    if any(index >= len(free) for index in need.asked):
        return len(leaving) + 1
    rooms = {row: _room(free, slots, need, row) for row in np.flatnonzero(need.rows).tolist()}
    found = sum(rooms.values())
    for count, pods in enumerate(leaving):
        if found >= need.pods:
            return count
        for row, info in pods:
            if row in rooms:
                _leave(free, slots, row, info)
                room = _room(free, slots, need, row)
                found += room - rooms[row]
                rooms[row] = room
    return len(leaving) + (found < need.pods)


def _leave(free: Amounts, slots: Amounts, row: int, info: PodInfo) -> None:
    slots[row] += 1
    for index, amount in info.requests:
        free[index, row] += amount


def _left(table: NodeTable, others: list[Hold]) -> tuple[Amounts, Amounts]:
    """int64 (resource, row) and (row): what is free, without what others are kept."""
    free, slots = table.allocatable - table.requested, table.allowed_pods - table.pod_count
    if others:
        pods, amounts = total(others, table)
        free, slots = free - amounts, slots - pods
    return free, slots


def _releases(table: NodeTable, ends: Ends) -> list[Release]:
    found = []
    for row in table.row_of.values():
        known = [(ends(info), info) for info in table.pods[row].values()]
        unknown = sum(end == math.inf for end, _ in known)
        found += [Release(end, unknown if end == math.inf else 0, row, info) for end, info in known]
    return sorted(found, key=lambda release: release[:3])


def _one(
    free: Amounts, slots: Amounts, need: Need, releases: list[Release]
) -> tuple[dict[int, int], float] | None:
    """How many pods go to which rows, and when the last of these rows is ready."""
    if any(index >= len(free) for index in need.asked):
        return None
    free, slots = free.copy(), slots.copy()
    rooms = {row: _room(free, slots, need, row) for row in np.flatnonzero(need.rows).tolist()}
    ready = dict.fromkeys(rooms, -math.inf)
    found = sum(rooms.values())
    for end, _, row, info in releases:
        if found >= need.pods:
            break
        if row in rooms:
            _leave(free, slots, row, info)
            room = _room(free, slots, need, row)
            if room > rooms[row]:
                found += room - rooms[row]
                rooms[row], ready[row] = room, end
    return None if found < need.pods else _fill(rooms, ready, need.pods)


def _room(free: Amounts, slots: Amounts, need: Need, row: int) -> int:
    fitting = [free.item(index, row) // asked for index, asked in need.asked.items()]
    return max(0, min(slots.item(row), *fitting)) if fitting else max(0, slots.item(row))


def _fill(
    rooms: dict[int, int], ready: dict[int, float], pods: int
) -> tuple[dict[int, int], float]:
    """Take the rows that are ready first, and of those the roomiest."""
    taken: dict[int, int] = {}
    last = -math.inf
    for row in sorted(rooms, key=lambda row: (ready[row], -rooms[row], row)):
        if pods <= 0:
            break
        if rooms[row]:
            taken[row] = min(rooms[row], pods)
            pods -= taken[row]
            last = max(last, ready[row])
    return taken, last
