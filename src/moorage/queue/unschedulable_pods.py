"""Unschedulable and gated pods, which wait for an event, by the plugins that refused them.

1. Pods are indexed by the plugins that refused them: an event costs nothing for pods whose plugins
   did not register for it. A gated pod is indexed under the plugin that gates it only.
2. Within that they are indexed by spec and by class, so that similar pods can share one answer.
3. A plugin may name the key that pods of a spec wait for. An event that brings other keys costs
   nothing for those pods.
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
"""The key that a pod waits for, by the plugin that refused it; None if anything may help."""


def awaits_anything(refuser: Refuser, pod: Pod) -> None:
    return None


class UnschedulablePods:
    """Pods by uid, and by the plugins that refused them.

    A pod's info and refusing plugins decide where it is indexed: the caller must take the pod out
    before it changes them. `oldest` is a lower bound of `last_seen` over the pods in here.
    """

    __slots__ = ("_awaited", "_keys", "_refused", "_specs", "gated", "oldest", "unschedulable")

    def __init__(self, awaited: Awaited = awaits_anything) -> None:
        self._awaited = awaited
        self.unschedulable: dict[str, QueuedPod] = {}
        self.gated: dict[str, QueuedPod] = {}
        self.oldest = math.inf
        self._refused: dict[Refuser, PodsBySpec] = {}
        self._keys: dict[tuple[Refuser, Hashable], Hashable | None] = {}
        """(refuser, spec) -> the key that these pods wait for."""
        self._specs: dict[tuple[Refuser, Hashable | None], dict[Hashable, None]] = {}
        """(refuser, key) -> the specs whose pods wait for it."""

    @property
    def refused(self) -> Mapping[Refuser, PodsBySpec]:
        """The pods by refusing plugin, then by spec, then by class."""
        return self._refused

    def concerned(self, refuser: Refuser, keys: Collection[Hashable] | None) -> PodsBySpec:
        """Of the pods that a plugin refused, those that a change with these keys may help.

        `keys` is None if the change may help any pod. Pods that wait for no key are always
        included.
        """
        specs = self._refused[refuser]
        if keys is None:
            return specs
        found: PodsBySpec = {}
        for key in (None, *keys):
            for spec in self._specs.get((refuser, key), ()):
                found[spec] = specs[spec]
        return found

    def put(self, pod: QueuedPod) -> None:
        """Add a pod to the half of the pool (gated or unschedulable) that its state names."""
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
        """Remove a pod that is in here."""
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
        """Raise AssertionError if the two indexes of keys contradict each other."""
        refused = {(refuser, spec) for refuser, specs in self._refused.items() for spec in specs}
        assert self._keys.keys() == refused, "specs are not indexed by what they wait for"
        by_key = {
            (refuser, spec): key for (refuser, key), specs in self._specs.items() for spec in specs
        }
        assert by_key == self._keys, "keys are not indexed by the specs that wait for them"

    def stale(self, now: float, longest: float) -> list[QueuedPod]:
        """Pods not attempted or flushed for more than `longest` seconds; makes `oldest` exact."""
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
    """The refusers under which a pod of the pool is indexed."""
    scheduler = pod.info.pod.spec.scheduler_name
    if pod.gated_by:
        return [(scheduler, pod.gated_by)]
    return [(scheduler, plugin) for plugin in sorted(pod.refused_by)]


def alike(pod: QueuedPod) -> Hashable:
    """A key that is equal for pods that plugins cannot tell apart except by their labels.

    A pod that a plugin changed for its attempt shares its key with no other.
    """
    return pod.info.cls.like_spec if pod.seen_as is None else pod.info.uid


def last_seen(pod: QueuedPod) -> float:
    """When the pod was last attempted or flushed."""
    return max(pod.timestamp, pod.flushed_at)
