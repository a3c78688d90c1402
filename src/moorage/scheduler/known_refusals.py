"""What is known of a pod beforehand: an equal one was refused, and nothing has changed since.

An event that makes room for one pod wakes every pod that waits for room. The first takes it and the
second is refused, and so is every pod equal to the second: their attempts end with the same result,
without calling a plugin.

kube-scheduler tries pods before their backoff ends whenever it has nothing else to do. Here a pod
whose refusal is known stays in backoff until the backoff ends or anything changes; if the last
retry of such a pod failed a moment ago, a little longer (`recent_refusals`).
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from moorage.cache.cache import Cache
from moorage.cache.podinfo import Feature as Brings
from moorage.cache.podinfo import PodInfo, like_but_claims
from moorage.clock import Clock
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
from moorage.scheduler.recent_refusals import RecentRefusals

LabelKeys = tuple[str, ...] | None
"""The keys of the labels that a refusal depends on; None if it may depend on any."""
Signs = tuple[Hashable, ...]
"""What a refusal depends on beyond spec and labels, one value for each plugin that has a sign."""


class Grounds(NamedTuple):
    """What a refusal depends on besides the spec.

    The labels with these keys; the `volumes_sign` of these plugins; if `reads_claims`, the names of
    the pod's claims; and the `refusal_sign` of these plugins.
    """

    label_keys: LabelKeys
    volume_plugins: tuple[str, ...] = ()
    reads_claims: bool = False
    signing_plugins: tuple[str, ...] = ()


class KnownRefusals(Feature):
    """The refusals that hold for all equal pods as things stand, by what the pods have in common.

    Unless it `postpones` attempts, every result is the same as without this feature.
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        profiles: Profiles,
        *,
        postpones: bool = True,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._profiles = profiles
        self._moment = cache.moment
        self._known: dict[Hashable, tuple[Profile, Unschedulable]] = {}
        self._grounds: dict[Hashable, set[Grounds]] = {}
        """Spec -> what the refusals of pods of that spec depend on."""
        self._recent = RecentRefusals()
        self._postpones = postpones
        if postpones:
            queue.spare(self.sparing, self.resting)

    def refused(self, cycle: Cycle, profile: Profile, why: Unschedulable) -> None:
        queued = self._queue.find(cycle.incoming.uid)
        if self._postpones and queued is not None and queued.attempts > 1:
            self._recent.note(_spec(cycle.incoming), self._clock.now())
        grounds = lasting_grounds(cycle, profile, why)
        signs = None if grounds is None else _signs(cycle, profile, grounds)
        if grounds is not None and signs is not None:
            self._catch_up()
            self._grounds.setdefault(_spec(cycle.incoming), set()).add(grounds)
            self._known[in_common(cycle.incoming, grounds.label_keys, signs)] = profile, why

    def foreseen(self, queued: QueuedPod, profile: Profile) -> Unschedulable | None:
        """How an attempt would end: as the attempt at an equal pod ended; None if unknown."""
        found = self._find(queued, profile)
        return None if found is None else self._known[found][1]

    def sparing(self, queued: QueuedPod) -> Hashable | None:
        """The refusal that makes an early retry useless; None if there is none."""
        return self._find(queued, self._profiles.of(queued.info.pod))

    def resting(self, queued: QueuedPod) -> bool:
        """Whether a pod of this spec was retried a moment ago, and refused."""
        return self._recent.rests(_spec(queued.info), self._clock.now())

    def next_due(self) -> float | None:
        """When the next kind of pods that rests may be tried early again."""
        return self._recent.next_end(self._clock.now())

    def _find(self, queued: QueuedPod, profile: Profile) -> Hashable | None:
        self._catch_up()
        info = queued.info
        if not self._known or _is_promised(self._cache, info):
            return None
        for grounds in self._grounds.get(_spec(info), ()):
            signs: Signs | None = ()
            if grounds.volume_plugins or grounds.reads_claims or grounds.signing_plugins:
                now = self._clock.now()
                cycle = Cycle(self._cache, info, now=now, shared=profile.shared)
                signs = _signs(cycle, profile, grounds)
            if signs is not None:
                alike = in_common(info, grounds.label_keys, signs)
                if alike in self._known and self._known[alike][0] is profile:
                    return alike
        return None

    def _catch_up(self) -> None:
        moment = self._cache.moment
        if moment != self._moment:
            self._known.clear()
            self._grounds.clear()
            self._moment = moment


def in_common(info: PodInfo, keys: LabelKeys, volumes: Signs = ()) -> Hashable:
    """A key that is equal for pods of equal specs, signs and labels with these keys.

    If any label may count (`keys` is None), all labels and the owner are compared: default topology
    spread constraints select the pods of one owner. Claims are compared by content, not by name.
    """
    if keys is None:
        owner = info.pod.owner
        whose = None if owner is None else (owner.kind, owner.name)
        return _spec(info), frozenset(info.cls.labels.items()), whose, volumes
    return _spec(info), tuple(info.cls.labels.get(key) for key in keys), volumes


def _spec(info: PodInfo) -> Hashable:
    cls = info.cls
    return like_but_claims(cls) if cls.features & Brings.VOLUMES else cls.like_spec


def lasting_grounds(cycle: Cycle, profile: Profile, why: Unschedulable) -> Grounds | None:
    """What a refusal depends on, if it holds for all equal pods until something changes; else None.

    It does not hold for equal pods if

    1. room is being made for the pod, or a plugin answered Pending;
    2. the pod is nominated to a node, which no equal pod is;
    3. extenders were asked, a node rests, or an eviction rule is in force;
    4. a plugin that was asked does not promise the same answer for equal pods, and has no sign.

    Plugins that were not asked do not matter: they could only refuse more.
    """
    if (why.nominated is not None and why.nominated.node) or why.diagnosis.pending_plugins:
        return None
    if _is_promised(cycle.cache, cycle.incoming):
        return None
    if cycle.extenders or cycle.cache.resting or eviction.rule(cycle) is not None:
        return None
    judges = list(_judges(cycle, profile, why.diagnosis))
    about_volumes = [
        plugin for plugin in judges if plugin is not None and _is_about_volumes(plugin)
    ]
    signing = [plugin for plugin in judges if plugin is not None and _has_a_sign(plugin)]
    if not all(
        plugin is not None
        and (plugin.same_for_equal_pods or plugin in about_volumes or plugin in signing)
        for plugin in judges
    ):
        return None
    others = [plugin for plugin in judges if plugin not in about_volumes and plugin not in signing]
    by_name = any(plugin is not None and plugin.reads_claims for plugin in others)
    return Grounds(_label_keys(cycle, others), _names(about_volumes), by_name, _names(signing))


def _is_promised(cache: Cache, info: PodInfo) -> bool:
    """Whether a pod is nominated to a node; its status may not say so yet."""
    in_memory = cache.nominations.node_of(info.uid) is not None
    return in_memory or bool(info.pod.status.nominated_node_name)


def _is_about_volumes(plugin: Plugin) -> bool:
    """Whether a plugin's answer depends on volumes only, so that `volumes_sign` stands for it."""
    return plugin.concerns() == Brings.VOLUMES and not plugin.same_for_equal_pods


def _has_a_sign(plugin: Plugin) -> bool:
    """Whether a plugin implements `refusal_sign`."""
    return type(plugin).refusal_sign is not Plugin.refusal_sign


def _names(plugins: Iterable[Plugin]) -> tuple[str, ...]:
    return tuple(sorted({plugin.plugin_name() for plugin in plugins}))


def _signs(cycle: Cycle, profile: Profile, grounds: Grounds) -> Signs | None:
    """The pod's signs for these grounds; None if a plugin cannot give one."""
    found: list[Hashable] = [cycle.incoming.cls.like_spec] if grounds.reads_claims else []
    plugins = profile.plugins
    asked = [plugins[name].volumes_sign for name in grounds.volume_plugins]
    for ask in (*asked, *(plugins[name].refusal_sign for name in grounds.signing_plugins)):
        try:
            sign = ask(cycle)
        except Exception:  # the pod's own attempt will report the error
            sign = None
        if sign is None:
            return None
        found.append(sign)
    return tuple(found)


def _label_keys(cycle: Cycle, judges: Iterable[Plugin | None]) -> LabelKeys:
    found: set[str] = set()
    for plugin in judges:
        if plugin is not None and plugin.reads_labels:
            keys = plugin.label_keys(cycle)
            if keys is None:
                return None
            found.update(keys)
    return tuple(sorted(found))


def _judges(cycle: Cycle, profile: Profile, diagnosis: Diagnosis) -> Iterator[Plugin | None]:
    """The plugins that refused the pod, filtered nodes, or could make room; None if unknown."""
    yield from map(profile.plugins.get, diagnosis.unschedulable_plugins)
    yield from cycle.refuses.filters
    features = cycle.incoming.cls.features
    for _, plugin in profile.post_filter:
        concern = plugin.concerns()
        if concern == Brings.ANYTHING or concern & features:
            yield plugin
