"""What is known of a pod beforehand: an equal one was refused, and nothing has changed since.

What makes room for one pod wakes all that wait for room: the first takes it, the second is refused,
and with it all that are like it. Their attempts end as that one did, without asking anybody. Who
backs off is left to its backoff, until that ends or until anything changes; kube-scheduler tries
pods early whenever it has nothing else to do.
"""

from collections.abc import Hashable, Iterator

from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature as Brings
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.plugin import Plugin
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Feature
from moorage.scheduler.profiles import Profiles


class KnownRefusals(Feature):
    """Which pods are refused everywhere as things stand, by what they have in common, and why."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, profiles: Profiles) -> None:
        self._cache = cache
        self._profiles = profiles
        self._moment = cache.moment
        self._known: dict[Hashable, tuple[Profile, Unschedulable]] = {}
        queue.spare(self.sparing)

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        alike = concerned(cycle, profile, why)
        if alike is not None:
            self._catch_up()
            self._known[alike] = profile, why

    def foreseen(self, queued: QueuedPod, profile: Profile) -> Unschedulable | None:
        """How an attempt would end: as that of an equal pod has ended."""
        found = self._find(queued, profile)
        return None if found is None else self._known[found][1]

    def sparing(self, queued: QueuedPod) -> Hashable | None:
        """Which refusal tells that an early retry is of no use."""
        return self._find(queued, self._profiles.of(queued.info.pod))

    def _find(self, queued: QueuedPod, profile: Profile) -> Hashable | None:
        self._catch_up()
        known, info = self._known, queued.info
        if not known or info.pod.status.nominated_node_name:
            return None
        for alike in (info.cls.like_spec, info.cls):
            if alike in known and known[alike][0] is profile:
                return alike
        return None

    def _catch_up(self) -> None:
        moment = self._cache.moment
        if moment != self._moment:
            self._known.clear()
            self._moment = moment


def concerned(cycle: Cycle, profile: Profile, why: Unschedulable) -> Hashable | None:
    """What the pods have in common that would be refused like this one until something changes.

    None where room is made, where a node rests or somebody is spared for a time, or where anybody
    had a say who does not promise to say the same. Who had none can only refuse more another time.
    """
    if (why.nominated is not None and why.nominated.node) or why.diagnosis.pending_plugins:
        return None
    if cycle.extenders or cycle.cache.resting or eviction.rule(cycle) is not None:
        return None
    cls, reads_labels = cycle.incoming.cls, False
    for plugin in _judges(cycle, profile, why.diagnosis):
        if plugin is None or not plugin.same_for_equal_pods:
            return None
        reads_labels |= plugin.reads_labels
    return cls if reads_labels else cls.like_spec


def _judges(cycle: Cycle, profile: Profile, diagnosis: Diagnosis) -> Iterator[Plugin | None]:
    """Who refused the pod, who was asked about nodes, and who could have made room."""
    yield from map(profile.plugins.get, diagnosis.unschedulable_plugins)
    yield from cycle.refuses.filters
    features = cycle.incoming.cls.features
    for _, plugin in profile.post_filter:
        concern = plugin.concerns()
        if concern == Brings.ANYTHING or concern & features:
            yield plugin
