"""How groups are treated, by the GangScheduling of the profiles in force."""

import math

from moorage.api.pod import Pod
from moorage.framework.eviction import UNITS
from moorage.gang.directory import Directory
from moorage.gang.disruption_units import DisruptionUnits
from moorage.gang.group import Group
from moorage.gang.holds import Holds
from moorage.gang.plugin import NAME, GangScheduling, GroupView
from moorage.queue.backoff import Backoff
from moorage.scheduler.profiles import Profiles

DEFAULTS = GangScheduling()


class GangSettings:
    """The GangScheduling of each profile that has one; all of them share the groups."""

    def __init__(self, profiles: Profiles, groups: Directory, holds: Holds) -> None:
        self._profiles = profiles
        self._view = GroupView(groups, holds)
        self._units = DisruptionUnits(groups)
        self._plugins: dict[str, GangScheduling] = {}
        self.read()

    def read(self) -> None:
        """Read the profiles in force, and give their plugins access to the groups."""
        self._plugins = {}
        for profile in self._profiles:
            profile.shared[NAME] = self._view
            for plugin in profile.plugins.values():
                if isinstance(plugin, GangScheduling) and plugin.enabled:
                    self._plugins.setdefault(profile.scheduler_name, plugin)
                    profile.shared[UNITS] = self._units

    @property
    def any(self) -> bool:
        """Whether any profile schedules groups."""
        return bool(self._plugins)

    def apply_to(self, pod: Pod) -> bool:
        """Whether the profile of a pod schedules groups."""
        return pod.spec.scheduler_name in self._plugins

    def of(self, group: Group) -> GangScheduling:
        """The settings for a group: those of the profile of its first pod that has any."""
        pods = (*group.waiting.values(), *group.placed.values())
        named = (self._plugins.get(pod.spec.scheduler_name) for pod in pods)
        return next((plugin for plugin in named if plugin is not None), DEFAULTS)

    def patience(self, group: Group) -> float:
        """How many seconds a group may take from its first pod to its last."""
        found = group.object
        given = None if found is None else found.spec.schedule_timeout_seconds
        if given is not None and given > 0:
            return float(given)
        return self.of(group).permit_waiting_time_seconds

    def backoff(self, group: Group) -> float:
        """How many seconds a group that failed is kept out of the queue."""
        fixed = self.of(group).pod_group_backoff_seconds
        if fixed:
            return fixed
        backoff = self._profiles.backoff
        most = backoff.maximum * math.sqrt(max(group.members, 1))
        return Backoff(backoff.initial, most).duration(group.failures)
