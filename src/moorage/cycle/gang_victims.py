"""Who must leave so that a gang fits: as few and as unimportant as can be found.

1. Whoever may be evicted is lined up, the least important first (`moorage.cycle.gang_units`).
2. They leave from the front until the gang fits: as many as arithmetic says at least, then more.
3. Those that left come back one by one, the most important first, where the gang still fits.

All of it on the live table inside a trial, and all of it undone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.cycle import gang_foresight
from moorage.cycle.gang_foresight import Need
from moorage.cycle.gang_units import Unit


class Plan(Protocol):
    """Where a gang would go; made inside a trial, and gone with it."""

    def still_fits(self, row: int) -> bool:
        """Whether the pods of the gang on a row could be there, as things stand now."""
        ...


P = TypeVar("P", bound=Plan)


class Found(NamedTuple):
    """The units that have to leave, the most important first, out of those lined up."""

    victims: list[Unit]

    @property
    def pods(self) -> list[Pod]:
        return [info.pod for unit in self.victims for info in unit.pods]


def least(table: NodeTable, needs: Sequence[Need], units: Sequence[Unit], cache: Cache) -> int:
    """How many units must leave at least; more than there are where that would not help."""
    homes = [[(_row(cache, info), info) for info in unit.pods] for unit in units]
    return max((gang_foresight.walk(table, need, homes) for need in needs), default=0)


def search(
    cache: Cache, units: Sequence[Unit], at_least: int, place: Callable[[], P | None]
) -> tuple[Found, P] | None:
    """Find victims among the units; `place` tries the gang, and leaves it in place if it fits."""
    count = _shortest(cache, units, at_least, place)
    if count is None:
        return None
    with cache.trial():
        homes = {info.uid: _row(cache, info) for unit in units[:count] for info in unit.pods}
        _remove(cache, units[:count])
        plan = place()
        if plan is None:
            return None
        victims = [
            unit for unit in reversed(units[:count]) if not _may_stay(cache, unit, homes, plan)
        ]
    return (Found(victims), plan) if victims else None


def _shortest(
    cache: Cache, units: Sequence[Unit], at_least: int, place: Callable[[], P | None]
) -> int | None:
    """The shortest front of the line that is enough."""

    def fits(count: int) -> bool:
        with cache.trial():
            _remove(cache, units[:count])
            return place() is not None

    if at_least > len(units):
        return None
    too_few, enough, step = at_least - 1, at_least, 1
    while not fits(enough):
        if enough == len(units):
            return None
        too_few, enough, step = enough, min(enough + step, len(units)), step * 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if fits(middle):
            enough = middle
        else:
            too_few = middle
    return enough


def _remove(cache: Cache, units: Sequence[Unit]) -> None:
    for unit in reversed(units):
        for info in reversed(unit.pods):
            cache.displace(info)


def _may_stay(cache: Cache, unit: Unit, homes: dict[str, int], plan: Plan) -> bool:
    for info in unit.pods:
        cache.place_on(homes[info.uid], info)
    rows = {homes[info.uid] for info in unit.pods}
    if all(_has_room(cache.table, row) and plan.still_fits(row) for row in rows):
        return True
    for info in unit.pods:
        cache.displace(info)
    return False


def _has_room(table: NodeTable, row: int) -> bool:
    within = table.requested[:, row] <= table.allocatable[:, row]
    return bool(np.all(within)) and int(table.pod_count[row]) <= int(table.allowed_pods[row])


def _row(cache: Cache, info: PodInfo) -> int:
    return cache.table.row_of[cache.node_of(info.uid) or ""]
