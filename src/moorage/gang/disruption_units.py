"""Kubernetes' own groups as preemption sees them: which pods leave together.

Groups of other kinds stay whole as long as enough of their pods are left: see `Gangs.leave_with`.
"""

from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import Unit
from moorage.gang import hierarchy, victim_search
from moorage.gang.directory import Directory
from moorage.gang.group import Group

POD, GROUP, GROUP_OF_GROUPS = range(3)
_SEEN, _UNITS = "GangScheduling/seen", "GangScheduling/units"


class DisruptionUnits:
    """The `UnitOf` rule of groups; a pod of a group ranks above a pod without one."""

    def __init__(self, groups: Directory) -> None:
        self._groups = groups

    def __bool__(self) -> bool:
        return self._groups.in_use and len(self._groups) > 0

    def __call__(self, cycle: Cycle, info: PodInfo) -> Unit | int:
        named = victim_search.named_group(self._groups, info)
        if named is None:
            return POD
        seen: dict[str, Unit | int] = cycle.state.setdefault(_SEEN, {})
        try:
            return seen[named]
        except KeyError:
            found = seen[named] = self._of_group(cycle, info)
            return found

    def _of_group(self, cycle: Cycle, info: PodInfo) -> Unit | int:
        """The unit shared by all pods that name the same group, or the rank of single pods."""
        group = self._groups.of(info.pod)
        if group is None or not _is_of_kubernetes(group):
            return POD
        if group.tree is None and victim_search.is_divisible(group.object):
            return GROUP
        key = victim_search.unit_of(self._groups, info.pod)
        if not key:
            return GROUP
        units: dict[str, Unit] = cycle.state.setdefault(_UNITS, {})
        if key not in units:
            units[key] = self._unit(cycle, info, key)
        return units[key]

    def _unit(self, cycle: Cycle, info: PodInfo, key: str) -> Unit:
        cache = cycle.cache
        uids = victim_search.unit_pods(self._groups, info.pod, cache.assumed)
        others = (cache.pod(uid) for uid in uids if uid != info.uid)
        pods = (info, *(other for other in others if other is not None))
        rank = GROUP_OF_GROUPS if hierarchy.names_composite(key) else GROUP
        return Unit(pods, max(each.priority for each in pods), rank)


def _is_of_kubernetes(group: Group) -> bool:
    if group.tree is not None:
        return True
    return group.object is not None and group.object.spec.scheduling_policy is not None
