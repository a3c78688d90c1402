"""Unschedulable and gated pods, which wait for an event, by the plugins that refused them.

Pods are indexed by who refused them, so that an event costs nothing for pods whose plugins do not
care for it, and within that by spec and by class, so that pods that are alike can share one answer.
A gated pod is indexed under the plugin that gates it: nobody else can let it go.

Where a plugin tells by which key pods of a spec can be helped, an event that brings other keys
costs nothing for them either.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from itertools import chain

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodClass
from moorage.framework.queued_pod import QueuedPod, State

Refuser = tuple[str, str]
"""A scheduler name and a plugin of its profile."""

PodsByClass = dict[PodClass, dict[str, QueuedPod]]
PodsBySpec = dict[Hashable, PodsByClass]


Awaited = Callable[[Refuser, Pod], Hashable | None]
"""The key that a pod waits for, by the plugin that refused it; None where anything may help."""


def awaits_anything(refuser: Refuser, pod: Pod) -> None:
    return None


class UnschedulablePods:
    """Pods by uid, and by who refused them.

    What of a pod decides where it is indexed (info, refusing plugins) may change only while the
    pod is outside. `oldest` is no later than the last time any pod in here was attempted or
    flushed.
    """

    __slots__ = ("_awaited", "_keys", "_refused", "_specs", "gated", "oldest", "unschedulable")

    def __init__(self, awaited: Awaited = awaits_anything) -> None:
        self._awaited = awaited
        self.unschedulable: dict[str, QueuedPod] = {}
        self.gated: dict[str, QueuedPod] = {}
        self.oldest = math.inf
        self._refused: dict[Refuser, PodsBySpec] = {}
        self._keys: dict[tuple[Refuser, Hashable], Hashable | None] = {}
        """What pods of a spec that was refused wait for."""
        self._specs: dict[tuple[Refuser, Hashable | None], dict[Hashable, None]] = {}
        """The same the other way round."""

    @property
    def refused(self) -> Mapping[Refuser, PodsBySpec]:
        """The pods by who refused them, then by spec, then by class."""
        return self._refused

    def concerned(self, refuser: Refuser, keys: Collection[Hashable] | None) -> PodsBySpec:
        """Of the pods that a plugin refused those that a change may help which brings these keys;
        None: anybody."""
        specs = self._refused[refuser]
        if keys is None:
            return specs
        found: PodsBySpec = {}
        for key in (None, *keys):
            for spec in self._specs.get((refuser, key), ()):
                found[spec] = specs[spec]
        return found

    def put(self, pod: QueuedPod) -> None:
        """Let in a pod whose state says which half of the pool it belongs to."""
        self._half(pod)[pod.info.uid] = pod
        spec, cls, uid = alike(pod), pod.info.cls, pod.info.uid
        for refuser in refusers(pod):
            specs = self._refused.setdefault(refuser, {})
            if spec not in specs:
                specs[spec] = {}
                key = self._keys[refuser, spec] = self._awaited(refuser, pod.judged)
                self._specs.setdefault((refuser, key), {})[spec] = None
            specs[spec].setdefault(cls, {})[uid] = pod
        self.oldest = min(self.oldest, last_seen(pod))

    def take(self, pod: QueuedPod) -> None:
        """Let out a pod that is in here."""
        del self._half(pod)[pod.info.uid]
        spec, cls, uid = alike(pod), pod.info.cls, pod.info.uid
        for refuser in refusers(pod):
            specs = self._refused[refuser]
            classes = specs[spec]
            pods = classes[cls]
            del pods[uid]
            if not pods:
                del classes[cls]
                if not classes:
                    del specs[spec]
                    self._forget(refuser, spec)
                    if not specs:
                        del self._refused[refuser]

    def _forget(self, refuser: Refuser, spec: Hashable) -> None:
        key = self._keys.pop((refuser, spec))
        alike = self._specs[refuser, key]
        del alike[spec]
        if not alike:
            del self._specs[refuser, key]

    def validate(self) -> None:
        """Raise AssertionError where the two ways to look keys up contradict each other."""
        refused = {(refuser, spec) for refuser, specs in self._refused.items() for spec in specs}
        assert self._keys.keys() == refused, "specs are not indexed by what they wait for"
        by_key = {
            (refuser, spec): key for (refuser, key), specs in self._specs.items() for spec in specs
        }
        assert by_key == self._keys, "keys are not indexed by the specs that wait for them"

    def stale(self, now: float, longest: float) -> list[QueuedPod]:
        """Pods neither attempted nor flushed for longer than that; `oldest` is made exact."""
        if now - self.oldest <= longest:
            return []
        oldest, found = math.inf, []
        for pod in chain(self.unschedulable.values(), self.gated.values()):
            seen = pod.timestamp if pod.timestamp > pod.flushed_at else pod.flushed_at
            oldest = seen if seen < oldest else oldest
            if now - seen > longest:
                found.append(pod)
        self.oldest = oldest
        return found

    def get(self, uid: str) -> QueuedPod | None:
        """A pod in here, by uid."""
        return self.unschedulable.get(uid) or self.gated.get(uid)

    def __len__(self) -> int:
        return len(self.unschedulable) + len(self.gated)

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self.unschedulable.values()
        yield from self.gated.values()

    def _half(self, pod: QueuedPod) -> dict[str, QueuedPod]:
        return self.gated if pod.state is State.GATED else self.unschedulable


def refusers(pod: QueuedPod) -> list[Refuser]:
    """Under which keys a pod of the pool is indexed."""
    scheduler = pod.info.pod.spec.scheduler_name
    if pod.gated_by:
        return [(scheduler, pod.gated_by)]
    return [(scheduler, plugin) for plugin in sorted(pod.refused_by)]


def alike(pod: QueuedPod) -> Hashable:
    """Equal for pods that plugins see alike but for their labels.

    One that a plugin had changed for its attempt is like no other.
    """
    return pod.info.cls.like_spec if pod.seen_as is None else pod.info.uid


def last_seen(pod: QueuedPod) -> float:
    """When the pod was last attempted or flushed."""
    return max(pod.timestamp, pod.flushed_at)
