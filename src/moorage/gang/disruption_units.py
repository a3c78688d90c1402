"""Kubernetes' own groups as preemption sees them: which pods leave together.

Groups of other kinds are whole as long as enough of their pods are left; see `Gangs.leave_with`.
"""

from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import Unit
from moorage.gang import hierarchy, victim_search
from moorage.gang.directory import Directory
from moorage.gang.group import Group

GROUP, GROUP_OF_GROUPS = 1, 2
_SEEN = "GangScheduling/units"


class DisruptionUnits:
    """Tells for which pods others leave, too; a pod of a group is worth more than one of none."""

    def __init__(self, groups: Directory) -> None:
        self._groups = groups

    def __bool__(self) -> bool:
        return self._groups.in_use and len(self._groups) > 0

    def __call__(self, cycle: Cycle, info: PodInfo) -> Unit | None:
        group = self._groups.of(info.pod)
        if group is None or not _is_of_kubernetes(group):
            return None
        if group.tree is None and victim_search.is_divisible(group.object):
            return Unit((info,), info.priority, GROUP)
        seen: dict[str, Unit] = cycle.state.setdefault(_SEEN, {})
        key = victim_search.unit_of(self._groups, info.pod) or info.uid
        found = seen.get(key)
        if found is None:
            found = seen[key] = self._unit(cycle, info)
        return found

    def _unit(self, cycle: Cycle, info: PodInfo) -> Unit:
        cache, key = cycle.cache, victim_search.unit_of(self._groups, info.pod)
        uids = victim_search.unit_pods(self._groups, info.pod, cache.assumed) if key else ()
        others = (cache.pod(uid) for uid in uids if uid != info.uid)
        pods = (info, *(other for other in others if other is not None))
        rank = GROUP_OF_GROUPS if hierarchy.names_composite(key) else GROUP
        return Unit(pods, max(each.priority for each in pods), rank)


def _is_of_kubernetes(group: Group) -> bool:
    if group.tree is not None:
        return True
    return group.object is not None and group.object.spec.scheduling_policy is not None
