"""What is known of a pod beforehand: an equal one was refused, and nothing has changed since.

What makes room for one pod wakes all that wait for room: the first takes it, the second is refused,
and with it all that are like it. Their attempts end as that one did, without asking anybody. Who
backs off is left to its backoff, until that ends or until anything changes; kube-scheduler tries
pods early whenever it has nothing else to do.
"""

from collections.abc import Hashable, Iterator

from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature as Brings
from moorage.cache.podinfo import PodInfo
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

LabelKeys = tuple[str, ...] | None
"""The keys of labels that a refusal went by; None where that may be any."""


class KnownRefusals(Feature):
    """Which pods are refused everywhere as things stand, by what they have in common, and why."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, profiles: Profiles) -> None:
        self._cache = cache
        self._profiles = profiles
        self._moment = cache.moment
        self._known: dict[Hashable, tuple[Profile, Unschedulable]] = {}
        self._keys: dict[Hashable, set[LabelKeys]] = {}
        """By what pods of equal specs have in common, which labels refusals went by."""
        queue.spare(self.sparing)

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        if is_lasting(cycle, profile, why):
            self._catch_up()
            info, keys = cycle.incoming, _label_keys(cycle, profile, why.diagnosis)
            self._keys.setdefault(info.cls.like_spec, set()).add(keys)
            self._known[in_common(info, keys)] = profile, why

    def foreseen(self, queued: QueuedPod, profile: Profile) -> Unschedulable | None:
        """How an attempt would end: as that of an equal pod has ended."""
        found = self._find(queued, profile)
        return None if found is None else self._known[found][1]

    def sparing(self, queued: QueuedPod) -> Hashable | None:
        """Which refusal tells that an early retry is of no use."""
        return self._find(queued, self._profiles.of(queued.info.pod))

    def _find(self, queued: QueuedPod, profile: Profile) -> Hashable | None:
        self._catch_up()
        info = queued.info
        if not self._known or info.pod.status.nominated_node_name:
            return None
        for keys in self._keys.get(info.cls.like_spec, ()):
            alike = in_common(info, keys)
            if alike in self._known and self._known[alike][0] is profile:
                return alike
        return None

    def _catch_up(self) -> None:
        moment = self._cache.moment
        if moment != self._moment:
            self._known.clear()
            self._keys.clear()
            self._moment = moment


def in_common(info: PodInfo, keys: LabelKeys) -> Hashable:
    """Equal for pods of equal specs that have these labels in common; where any may count, so may
    the owner, by whose pods default constraints spread them."""
    if keys is None:
        owner = info.pod.owner
        return info.cls, None if owner is None else (owner.kind, owner.name)
    return info.cls.like_spec, tuple(info.cls.labels.get(key) for key in keys)


def is_lasting(cycle: Cycle, profile: Profile, why: Unschedulable) -> bool:
    """Whether a refusal holds for equal pods until something changes.

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


def _label_keys(cycle: Cycle, profile: Profile, diagnosis: Diagnosis) -> LabelKeys:
    found: set[str] = set()
    for plugin in _judges(cycle, profile, diagnosis):
        if plugin is not None and plugin.reads_labels:
            keys = plugin.label_keys(cycle)
            if keys is None:
                return None
            found.update(keys)
    return tuple(sorted(found))


def _judges(cycle: Cycle, profile: Profile, diagnosis: Diagnosis) -> Iterator[Plugin | None]:
    """Who refused the pod, who was asked about nodes, and who could have made room."""
    yield from map(profile.plugins.get, diagnosis.unschedulable_plugins)
    yield from cycle.refuses.filters
    features = cycle.incoming.cls.features
    for _, plugin in profile.post_filter:
        concern = plugin.concerns()
        if concern == Brings.ANYTHING or concern & features:
            yield plugin
