"""Who may be evicted for a gang, and in which order: pods, and gangs that leave as one.

The least important stand first: by priority, a pod before a gang, by size and age. Whoever a budget
protects stands behind all others.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.api.podgroup import PodGroup
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.framework.victims import Evictable
from moorage.plugins.preemption.budgets import Budgets
from moorage.plugins.preemption.importance import started
from moorage.policies.gang.directory import Directory
from moorage.policies.gang.group import Group

Spares = Callable[[PodInfo], bool]


class Unit(NamedTuple):
    """Pods that leave together: one, or the pods of the group of that key."""

    pods: tuple[PodInfo, ...]
    group: str = ""

    @property
    def priority(self) -> int:
        return max(info.priority for info in self.pods)

    @property
    def importance(self) -> tuple[int, bool, int, float]:
        """The smaller, the less important: priority, a group before a pod, size, age."""
        age = -min(started(info.pod) for info in self.pods)
        return self.priority, bool(self.group), len(self.pods), age


def line_up(
    cache: Cache,
    groups: Directory,
    own: Group,
    priority: int,
    budgets: Budgets,
    spares: Spares | None,
    evictable: Evictable | None = None,
) -> list[Unit]:
    """Everyone that may be evicted for a gang of this priority, the least important first.

    A rule about who is `evictable` stands in for the priority. Where it names one pod of another
    namespace's gang, the gang leaves as a whole.
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


def _named(units: list[Unit], own: Group, evictable: Evictable) -> list[Unit]:
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
    for pods in cache.table.pods:
        for info in pods.values():
            group = groups.of(info.pod)
            if group is None or group.minimum < 1 or is_divisible(group.object):
                yield Unit((info,))
            else:
                whole.setdefault(group.key, []).append(info)
    for key, infos in whole.items():
        yield Unit(tuple(infos), key)


def is_divisible(group: PodGroup | None) -> bool:
    """Whether pods of a group may be disrupted one by one: Kubernetes' own say, and default to."""
    if group is None or group.spec.scheduling_policy is None:
        return False
    mode = group.spec.disruption_mode
    return mode is None or mode.all is None


def _may_leave(cache: Cache, unit: Unit, spares: Spares | None) -> bool:
    if any(info.uid in cache.assumed for info in unit.pods):
        return False
    return spares is None or not any(spares(info) for info in unit.pods)
