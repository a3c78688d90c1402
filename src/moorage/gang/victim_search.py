"""Which pods must leave so that a group fits: as few and as unimportant ones as possible.

1. All units that may be evicted are lined up, the least important first (`line_up`).
2. They leave from the front of the line until the group fits: first the least number that
   arithmetic allows, then more.
3. Those that left come back one by one, the most important first, if the group still fits.

All of this happens on the live table in a trial, which is rolled back.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np

from moorage.api import podgroup
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.cache.cache import Cache
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.cycle.promised_rows import Usage
from moorage.framework.eviction import EvictableRule, started
from moorage.gang import foresight, hierarchy
from moorage.gang.directory import Directory
from moorage.gang.foresight import Need
from moorage.gang.group import Group

Spares = Callable[[PodInfo], bool]
_NAMED: Final = "GangScheduling/named"
_NAMED_BY_FIELD: Final = "GangScheduling/named by field"


class Unit(NamedTuple):
    """Pods that leave together: one pod, or those of the group of that key."""

    pods: tuple[PodInfo, ...]
    group: str = ""

    @property
    def priority(self) -> int:
        return max([info.priority for info in self.pods])

    @property
    def importance(self) -> tuple[int, int, int, float]:
        """A sort key, smaller is less important: priority, rank, size, age.

        A composite group ranks above a group, and a group above a pod.
        """
        age = -min([started(info.pod) for info in self.pods])
        rank = bool(self.group) + hierarchy.names_composite(self.group)
        return self.priority, rank, len(self.pods), age


def line_up(
    cache: Cache,
    groups: Directory,
    own: Group,
    priority: int,
    budgets: Budgets,
    spares: Spares | None,
    evictable: EvictableRule | None = None,
) -> list[Unit]:
    """All units that may be evicted for a group of this priority, the least important first.

    Units whose eviction violates a budget come last. An `evictable` rule replaces the comparison of
    priorities. If it selects only some pods of a unit, the unit may leave only if it is of another
    namespace.
    """
    others = [unit for unit in _units(cache, groups) if unit.group != own.key]
    if evictable is None:
        below = [unit for unit in others if unit.priority < priority]
    else:
        below = _named(others, own, evictable)
    units = [unit for unit in below if _may_leave(cache, unit, spares)]
    units.sort(key=lambda unit: unit.importance)
    if not budgets:
        return units
    violating = iter(budgets.violated_by(info for unit in units for info in unit.pods))
    marked = [(any([next(violating) for _ in unit.pods]), unit) for unit in units]
    return [unit for _, unit in sorted(marked, key=lambda pair: pair[0])]


def _named(units: list[Unit], own: Group, evictable: EvictableRule) -> list[Unit]:
    chosen = {info.uid for info in evictable([info for unit in units for info in unit.pods])}
    home = own.key.partition("/")[0]
    found = []
    for unit in units:
        named = [info.uid in chosen for info in unit.pods]
        if all(named) or (any(named) and unit.pods[0].pod.namespace != home):
            found.append(unit)
    return found


def _units(cache: Cache, groups: Directory) -> Iterable[Unit]:
    whole: dict[str, list[PodInfo]] = {}
    keys: dict[str | None, str] = {None: ""}
    for pods in cache.table.pods:
        for info in pods.values():
            named = named_group(groups, info)
            if named not in keys:
                keys[named] = unit_of(groups, info.pod)
            if key := keys[named]:
                whole.setdefault(key, []).append(info)
            else:
                yield Unit((info,))
    for key, infos in whole.items():
        yield Unit(tuple(infos), key)


def named_group(groups: Directory, info: PodInfo) -> str | None:
    """The key of the group that a pod names, if any; the pods that name it are of one unit."""
    memo, asked = info.cls.memo, _NAMED if groups.by_label else _NAMED_BY_FIELD
    try:
        named: str | None = memo[asked]
    except KeyError:
        named = memo[asked] = groups.key(info.pod)
    return named


def unit_of(groups: Directory, pod: Pod) -> str:
    """The key of the group that is disrupted together with a pod; empty if the pod can be alone.

    In a tree that is the highest group above the pod that is disrupted as a whole.
    """
    group = groups.of(pod)
    if group is None:
        return ""
    if group.tree is None:
        return "" if _is_divisible(group) else group.key
    above = group.tree.path(podgroup.member_key(pod))
    whole = (branch.obj for branch in above if not is_divisible(branch.obj))
    return next(map(hierarchy.object_key, whole), "")


def unit_pods(groups: Directory, pod: Pod, assumed: Container[str]) -> dict[str, Pod]:
    """The pods, on a node or assumed on one, that are disrupted together with a pod."""
    group, key = groups.of(pod), unit_of(groups, pod)
    if group is None or not key:
        return {}
    there = group.on_nodes(assumed)
    if group.key == key:
        return there
    return {uid: other for uid, other in there.items() if unit_of(groups, other) == key}


def _is_divisible(group: Group) -> bool:
    found = group.object
    if found is None or not found.is_own:
        return group.minimum < 1
    return is_divisible(found)


def is_divisible(group: PodGroup | None) -> bool:
    """Whether pods of a group may be disrupted one by one: the default of Kubernetes' own."""
    if group is None or group.spec.scheduling_policy is None:
        return False
    mode = group.spec.disruption_mode
    return mode is None or mode.all is None


def _may_leave(cache: Cache, unit: Unit, spares: Spares | None) -> bool:
    if cache.assumed and any(info.uid in cache.assumed for info in unit.pods):
        return False
    return spares is None or not any(spares(info) for info in unit.pods)


def some_are_being_bound(cache: Cache, priority: int) -> bool:
    """Whether pods below a priority are assumed: they cannot be evicted until they are bound."""
    on_nodes = (info for pods in cache.table.pods for info in pods.values())
    return bool(cache.assumed) and any(
        info.priority < priority and info.uid in cache.assumed for info in on_nodes
    )


class Plan(Protocol):
    """Where a group would go; valid only inside the trial in which it was made."""

    def still_fits(self, row: int) -> bool:
        """Whether the group's pods on a row still pass the filters, as the table is now."""
        ...


P = TypeVar("P", bound=Plan)


class Found(NamedTuple):
    """The units that must leave, the most important first."""

    victims: list[Unit]

    @property
    def pods(self) -> list[Pod]:
        return [info.pod for unit in self.victims for info in unit.pods]


def least(
    cache: Cache, needs: Sequence[Need], units: Sequence[Unit], promised: Usage | None = None
) -> int:
    """The least number of units that must leave; `len(units) + 1` if none of that helps."""
    homes = [[(_row(cache, info), info) for info in unit.pods] for unit in units]
    counts = (foresight.walk(cache.table, need, homes, promised) for need in needs)
    return max(counts, default=0)


def search(
    cache: Cache, units: Sequence[Unit], at_least: int, place: Callable[[], P | None]
) -> tuple[Found, P] | None:
    """Find victims among the units; `place` tries the group, and leaves it in place if it fits."""
    if at_least > len(units):
        return None
    found = _evict(cache, units[:at_least], place)
    if found is None:
        count = _shortest(cache, units, at_least, place)
        found = None if count is None else _evict(cache, units[:count], place)
    return found if found is not None and found[0].victims else None


def _evict(
    cache: Cache, front: Sequence[Unit], place: Callable[[], P | None]
) -> tuple[Found, P] | None:
    """The units of a front of the line that may not come back; None if the front is too short."""
    with cache.trial():
        homes = {info.uid: _row(cache, info) for unit in front for info in unit.pods}
        remove(cache, front)
        plan = place()
        if plan is None:
            return None
        victims = [unit for unit in reversed(front) if not _may_stay(cache, unit, homes, plan)]
    return Found(victims), plan


def _shortest(
    cache: Cache, units: Sequence[Unit], too_few: int, place: Callable[[], P | None]
) -> int | None:
    """The length of the shortest front of the line that is enough; None if all is not.

    A front that is known to be too short stays off the table while more units are tried.
    """
    with cache.trial():
        remove(cache, units[:too_few])
        step = 1
        while too_few < len(units):
            more = units[too_few : too_few + step]
            if _enough(cache, more, place):
                return _narrow(cache, units, too_few, too_few + len(more), place)
            remove(cache, more)
            too_few, step = too_few + len(more), step * 2
    return None


def _narrow(
    cache: Cache, units: Sequence[Unit], too_few: int, enough: int, place: Callable[[], P | None]
) -> int:
    """Binary search for the first front that is enough; the one too short is off the table."""
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if _enough(cache, units[too_few:middle], place):
            enough = middle
        else:
            remove(cache, units[too_few:middle])
            too_few = middle
    return enough


def _enough(cache: Cache, more: Sequence[Unit], place: Callable[[], P | None]) -> bool:
    with cache.trial():
        remove(cache, more)
        return place() is not None


def remove(cache: Cache, units: Sequence[Unit]) -> None:
    """Take the pods of units off the table, until the trial ends."""
    for unit in units:
        for info in unit.pods:
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
