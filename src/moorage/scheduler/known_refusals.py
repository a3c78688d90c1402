"""What is known of a pod beforehand: an equal one was refused, and nothing has changed since.

What makes room for one pod wakes all that wait for room: the first takes it, the second is refused,
and with it all that are like it. Their attempts end as that one did, without asking anybody. Who
backs off is left to its backoff, until that ends or until anything changes; kube-scheduler tries
pods early whenever it has nothing else to do.
"""

from collections.abc import Iterable

from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature as Brings
from moorage.cache.podinfo import PodClass
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
    """The classes of pods that were refused everywhere, and why, as things stand."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, profiles: Profiles) -> None:
        self._cache = cache
        self._profiles = profiles
        self._moment = cache.moment
        self._refused: dict[PodClass, tuple[Profile, Unschedulable]] = {}
        queue.spare(self.is_futile)

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        if is_lasting(cycle, profile, why):
            self._catch_up()
            self._refused[cycle.incoming.cls] = profile, why

    def foreseen(self, queued: QueuedPod, profile: Profile) -> Unschedulable | None:
        """How an attempt would end: as that of an equal pod has ended."""
        self._catch_up()
        decider, why = self._refused.get(queued.info.cls, (None, None))
        nominated = queued.info.pod.status.nominated_node_name
        return None if nominated or decider is not profile else why

    def is_futile(self, queued: QueuedPod) -> bool:
        """Whether an early retry is known to be of no use."""
        self._catch_up()
        if queued.info.cls not in self._refused:
            return False
        return self.foreseen(queued, self._profiles.of(queued.info.pod)) is not None

    def _catch_up(self) -> None:
        moment = self._cache.moment
        if moment != self._moment:
            self._refused.clear()
            self._moment = moment


def is_lasting(cycle: Cycle, profile: Profile, why: Unschedulable) -> bool:
    """Whether a refusal holds for every equal pod until something changes.

    Not where room is made, where a node rests or somebody is spared for a time, or where anybody
    had a say who does not promise to say the same. Who had none can only refuse more another time.
    """
    if (why.nominated is not None and why.nominated.node) or why.diagnosis.pending_plugins:
        return False
    if cycle.extenders or cycle.cache.resting or eviction.rule(cycle) is not None:
        return False
    return all(
        plugin is not None and plugin.same_for_equal_pods
        for plugin in _judges(cycle, profile, why.diagnosis)
    )


def _judges(cycle: Cycle, profile: Profile, diagnosis: Diagnosis) -> Iterable[Plugin | None]:
    """Who refused the pod, who was asked about nodes, and who could have made room."""
    yield from map(profile.plugins.get, diagnosis.unschedulable_plugins)
    yield from cycle.refuses.filters
    features = cycle.incoming.cls.features
    for _, plugin in profile.post_filter:
        concern = plugin.concerns()
        if concern == Brings.ANYTHING or concern & features:
            yield plugin
