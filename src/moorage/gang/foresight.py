"""When and where a group will first have room, by the durations that running pods declare.

1. Pods end in the order of the durations they declare. Pods that declare none come last, those on
   the nodes with the fewest such pods first.
2. Pods are subtracted one by one until the group fits. What the group would then use is the room to
   hold. The end of the last pod that had to go is when the group may start, if it is known.

This is arithmetic on resources and numbers of pods, on nodes that pass the filters about nodes: no
pod is moved. Pods of a class count as equal.
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
"""The start of a group for which it is unknown when it may start."""


class Need(NamedTuple):
    """Equal pods: how many, the requests of each, and the rows where they may run: bool (row)."""

    pods: int
    asked: dict[int, int]
    rows: Mask


class Foresight(NamedTuple):
    """The room to hold, by node, and when the group may start."""

    rooms: dict[str, Room]
    start: float


class Release(NamedTuple):
    """A pod that will leave a row; of unknown ends, those of rows of less `weight` go first."""

    end: float
    weight: int
    row: int
    info: PodInfo


def eligible(profile: Profile, cycle: Cycle) -> Mask:
    """bool (row): the nodes that pass the filters about node objects, whatever runs there."""
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
    """The needs, with those of equal requests and rows joined into one."""
    found: dict[tuple[tuple[tuple[int, int], ...], bytes], Need] = {}
    for need in needs:
        key = tuple(sorted(need.asked.items())), need.rows.tobytes()
        known = found.get(key)
        found[key] = need if known is None else need._replace(pods=known.pods + need.pods)
    return list(found.values())


def foresee(
    table: NodeTable, needs: Sequence[Need], ends: Ends, now: float, others: list[Hold]
) -> Foresight | None:
    """The first room that a group will have; None if it will have none, whichever pods end."""
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
    """The least number of departures after which there is room; `len(leaving) + 1` if never.

    Each departure is some pods with their rows. What was `promised` to others does not count as
    free.
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
    """int64 (resource, row) and (row): free resources and pod slots, less others' held room."""
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
    """Row -> number of pods, and when the last of these rows is ready; None if they do not fit."""
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
    """Fill the rows that are ready first; of rows ready at the same time, the largest first."""
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
