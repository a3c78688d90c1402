"""Retries that are known to be of no use: an equal pod was refused, and nothing has changed since.

Whenever there is nothing else to do, pods are tried before their backoff ends, as kube-scheduler
does. But what makes room for one pod wakes all that wait for room: the first takes it, the second
is refused, and with it all that are like it. Those are left to their backoff, until it ends or
until anything changes.
"""

from collections.abc import Iterable

from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature as Brings
from moorage.cache.podinfo import PodClass
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Feature
from moorage.scheduler.profiles import Profiles


class FutileRetries(Feature):
    """Knows which classes of pods were refused everywhere as things stand."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, profiles: Profiles) -> None:
        self._cache = cache
        self._profiles = profiles
        self._moment = cache.moment
        self._refused: dict[PodClass, Profile] = {}
        queue.spare(self.is_futile)

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        if is_lasting(cycle, profile, why):
            self._catch_up()
            self._refused[cycle.incoming.cls] = profile

    def is_futile(self, queued: QueuedPod) -> bool:
        """Whether an attempt would end as that of an equal pod has ended."""
        self._catch_up()
        info = queued.info
        if info.pod.status.nominated_node_name or info.cls not in self._refused:
            return False
        return self._refused[info.cls] is self._profiles.of(info.pod)

    def _catch_up(self) -> None:
        moment = self._cache.moment
        if moment != self._moment:
            self._refused.clear()
            self._moment = moment


def is_lasting(cycle: Cycle, profile: Profile, why: Unschedulable) -> bool:
    """Whether a refusal holds for every equal pod until something changes.

    Not where room is made, where a node rests or somebody is spared for a time, or where anybody
    has a say who does not promise to say the same.
    """
    if why.nominated is not None or why.diagnosis.pending_plugins:
        return False
    if cycle.extenders or cycle.cache.resting or eviction.rule(cycle) is not None:
        return False
    return all(plugin.same_for_equal_pods for plugin in _judges(cycle, profile))


def _judges(cycle: Cycle, profile: Profile) -> Iterable[Plugin]:
    plan, features = profile.plan(cycle.incoming), cycle.incoming.cls.features
    yield from (plugin for _, plugin in plan.pre_filter)
    yield from (entry.plugin for entry in plan.filter)
    for _, plugin in profile.post_filter:
        concern = plugin.concerns()
        if concern == Brings.ANYTHING or concern & features:
            yield plugin
