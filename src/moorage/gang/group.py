"""One group: its object, its pods, and how far it has come."""

import enum
from collections import Counter
from collections.abc import Collection, Container, Iterable

from moorage.api import podgroup
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.gang import group_states, hierarchy, likeness
from moorage.gang.group_states import BACKS_OFF, RELEASED, WAITS_FOR_VICTIMS, GroupState
from moorage.gang.group_states import GroupTrigger as Trigger
from moorage.gang.hierarchy import Branch
from moorage.gang.likeness import Kinds


class Release(enum.Enum):
    """Which pods of a group are to be let go: those that are gated, or all that wait."""

    GATED = "gated"
    ALL = "all"


class Group:
    """Pods that make sense only together, as far as they are known.

    `waiting` are pods without a node that one of our profiles may place, `placed` those on a node;
    pods that are being deleted count as neither, but for those of Kubernetes' own groups, which
    count until they are gone from their nodes. `gated` are those behind scheduling gates, which do
    not count yet; Kubernetes' own groups wait for each of them. `arrived` is when the first of
    those that wait came. A group has `started` once enough of it ran at the same time; for as long
    as any of it runs, pods that were lost are then replaced one by one, unless it is Kubernetes'
    own.

    Its `state` changes by the methods from `settle` on, by the table in `group_states`: one that is
    not legal raises GroupError, and changes nothing.
    """

    __slots__ = (
        "_kinds",
        "_retry",
        "arrived",
        "failures",
        "gated",
        "key",
        "leaving",
        "objects",
        "placed",
        "refused_by",
        "started",
        "state",
        "timed_out",
        "tree",
        "waiting",
        "waits_for",
    )

    def __init__(self, key: str) -> None:
        self.key = key
        self.objects: dict[str, PodGroup] = {}
        self.waiting: dict[str, Pod] = {}
        self.placed: dict[str, Pod] = {}
        self.gated: dict[str, Pod] = {}
        self.arrived: float | None = None
        self.started = False
        self.state = GroupState.HELD
        self.failures = 0
        self.refused_by: frozenset[str] = frozenset()
        """The plugins that refused the pod that blocked the last attempt."""
        self.leaving: set[str] = set()
        """The uids of pods that are evicted to make room for this group."""
        self.timed_out = False
        self.tree: Branch | None = None
        """The groups below, where this is a CompositePodGroup's; its pods are theirs."""
        self.waits_for = ""
        """The key of a CompositePodGroup that it is below, and that is not there."""
        self._kinds: Kinds = Counter()
        self._retry = False
        """Whether all of its pods are to be let go next, and not only those that are gated."""

    @property
    def object(self) -> PodGroup | None:
        """What a user has written; of two dialects under one name, what came last."""
        return next(reversed(self.objects.values()), None)

    @property
    def minimum(self) -> int:
        """How many pods must be placed at once; below 1 where they are placed one by one.

        Of a tree this is the least that it takes: which pods are enough is asked of `is_whole`.
        """
        if self.tree is not None:
            return max(self.tree.least, 1)
        found = self.object
        return 0 if found is None else found.min_count

    @property
    def members(self) -> int:
        return len(self.waiting) + len(self.placed)

    @property
    def pods(self) -> dict[str, Pod]:
        """All of them, by uid."""
        return self.placed | self.waiting

    @property
    def is_empty(self) -> bool:
        return not (self.objects or self.waiting or self.placed or self.gated)

    @property
    def is_replacing(self) -> bool:
        """Whether pods are placed one by one because the group has been whole before; of
        Kubernetes' own groups there must always be enough."""
        found = self.object
        if self.tree is not None or (found is not None and found.is_own):
            return False
        return self.started and bool(self.placed)

    @property
    def goes_whole(self) -> bool:
        """Whether an attempt at one of its pods is one at all that wait, for all that is bound."""
        if self.minimum < 1 or self.is_replacing:
            return False
        return self.tree is not None or len(self.placed) < self.minimum

    @property
    def priority(self) -> int:
        """The group's own priority, or that of its first pod."""
        found = self.object
        if found is not None and found.spec.priority is not None:
            return found.spec.priority
        first = next(iter((self.waiting or self.placed).values()), None)
        return 0 if first is None else first.priority

    @property
    def is_incomplete(self) -> bool:
        """Whether pods have yet to be created."""
        if self.tree is not None:
            return not self.tree.has(self._by_leaf(self.pods.values()))
        return self.members < self.minimum and not self.is_replacing

    @property
    def lacks_objects(self) -> bool:
        """Whether pods have yet to be created or to lose their gates, or the group, or one above
        it, has yet to be created."""
        return (
            not self.objects or bool(self.waits_for) or self.waits_for_gates or self.is_incomplete
        )

    @property
    def waits_for_gates(self) -> bool:
        """Whether it waits for pods behind scheduling gates, be they needed or not."""
        found = self.object
        return bool(self.gated) and found is not None and found.is_own

    @property
    def unlike(self) -> str:
        """Why pods of Kubernetes' own groups are never tried together, in kube-scheduler's words;
        empty where they are alike."""
        return likeness.refusal(self._kinds, self.object)

    @property
    def retries_all(self) -> bool:
        """Whether all of its pods are to be let go next, whatever happens until then."""
        return self._retry

    @property
    def title(self) -> str:
        """The group as users know it."""
        return hierarchy.title(self.key)

    def is_whole(self, uids: Collection[str]) -> bool:
        """Whether these of its pods are enough of it."""
        if self.tree is None:
            return len(uids) >= self.minimum
        return self.tree.has(self.by_leaf(uids))

    def by_leaf(self, uids: Collection[str]) -> Counter[str]:
        """How many of these pods are of which PodGroup."""
        return self._by_leaf(pod for uid, pod in self.pods.items() if uid in uids)

    def _by_leaf(self, pods: Iterable[Pod]) -> Counter[str]:
        return Counter(map(podgroup.member_key, pods))

    def scheduled(self, assumed: Container[str]) -> int:
        """How many of its pods are on a node, or about to be: `assumed` are uids."""
        return len(self.on_nodes(assumed))

    def on_nodes(self, assumed: Container[str]) -> dict[str, Pod]:
        """Its pods that are on a node, or being bound to one: `assumed` are uids."""
        return self.placed | {uid: pod for uid, pod in self.waiting.items() if uid in assumed}

    def add(self, pod: Pod, now: float) -> None:
        if _is_gated(pod):
            self.gated[pod.uid] = pod
            return
        likeness.count(self._kinds, pod)
        if pod.spec.node_name:
            self.placed[pod.uid] = pod
            self.note_start()
            return
        self.waiting[pod.uid] = pod
        if self.arrived is None:
            self.arrived = now

    def replace(self, pod: Pod) -> bool:
        """Take over a new version of a pod; False where it is not here, or has moved on."""
        pods = self.placed if pod.spec.node_name else self.waiting
        if _is_gated(pod):
            pods = self.gated
        known = pods.get(pod.uid)
        if known is None:
            return False
        if pods is self.gated:
            pods[pod.uid] = pod
            return True
        likeness.uncount(self._kinds, known)
        likeness.count(self._kinds, pod)
        pods[pod.uid] = pod
        return True

    def remove(self, uid: str) -> None:
        self.gated.pop(uid, None)
        pod = self.waiting.pop(uid, None) or self.placed.pop(uid, None)
        if pod is not None:
            likeness.uncount(self._kinds, pod)
        if not self.waiting:
            self.arrived = None
            self.timed_out = False
        if not self.placed:
            self.started = False

    def put_object(self, obj: PodGroup, *, has_run: bool) -> None:
        """Take over what a user has written; of a group that was whole before we came, that."""
        if obj.uid not in self.objects and has_run:
            self.started = True
        self.objects.pop(obj.uid, None)
        self.objects[obj.uid] = obj
        self.note_start()

    def note_start(self) -> None:
        """Remember that the group was whole, if it is."""
        if self.placed and len(self.placed) >= self.minimum >= 1:
            self.started = True

    def refusal(self) -> str | None:
        """Why no pod of the group may be attempted now; None where they may."""
        if not self.objects:
            return f"waiting for {self.title} to be created"
        if self.waits_for:
            return f"waiting for {hierarchy.title(self.waits_for)} to be created"
        if self.waits_for_gates:
            count = len(self.gated)
            return f"waiting for {count} {_pods(count)} of {self.title} to lose scheduling gates"
        if unlike := self.unlike:
            return unlike
        if self.minimum < 1:
            return None
        if self.is_incomplete and self.tree is not None:
            ready = self.tree.satisfied(self._by_leaf(self.pods.values()))
            return (
                f"waiting for pods of {self.title}: {ready} of the {self.tree.minimum} groups "
                "needed have theirs"
            )
        if self.is_incomplete:
            missing = self.minimum - self.members
            return (
                f"waiting for {missing} more {_pods(missing)} of PodGroup {self.key}: "
                f"{self.members} of {self.minimum} exist"
            )
        if self.leaving:
            count = len(self.leaving)
            return f"waiting for {count} {_pods(count)} preempted by {self.title} to leave"
        if self.backs_off:
            return f"{self.title} backs off after {self.failures} attempts that failed"
        return None

    @property
    def is_held(self) -> bool:
        """Whether something else than backoff keeps its pods from being attempted; asked whenever
        a pod leaves, mostly while others are still to leave for the group."""
        if self.backs_off:
            return False
        return bool(self.leaving and self.minimum >= 1) or self.refusal() is not None

    @property
    def backs_off(self) -> bool:
        return self.state in BACKS_OFF

    def settle(self) -> Release | None:
        """See whether the group may be tried; which of its pods are to be let go now, if any."""
        if not self.waiting or self.refusal() is not None:
            if self.state is RELEASED:
                self._go(Trigger.HOLD)
            return None
        if self.state is RELEASED:
            return None
        self._go(Trigger.RELEASE)
        release = Release.ALL if self._retry else Release.GATED
        self._retry = False
        self.leaving = set()
        return release

    def succeed(self) -> None:
        """Enough of its pods were placed."""
        self.failures = 0

    def refuse(self, plugins: Iterable[str]) -> None:
        """Too few of its pods could be placed: these plugins refused the one that blocked it."""
        self.refused_by = frozenset(plugins)

    def fail(self, *, retry: bool = False) -> None:
        """Back off; then those of its pods go on that an event has woken, or all with `retry`."""
        self._go(Trigger.FAIL)
        self.failures += 1
        self._retry = self._retry or retry

    def retry_all(self) -> None:
        """Let all of its pods go next, and not only those that an event has woken."""
        self._retry = True

    def complete_backoff(self) -> None:
        """It has backed off for long enough."""
        self._go(Trigger.BACKOFF_COMPLETE)

    def evict(self, victims: Iterable[str]) -> None:
        """Wait for these pods to leave; then all of the group goes on."""
        self._go(Trigger.EVICT)
        self.leaving = set(victims)
        self._retry = True

    def victim_left(self, uid: str) -> None:
        """A pod that was waited for is gone."""
        self.leaving.discard(uid)
        if not self.leaving and self.state in WAITS_FOR_VICTIMS:
            self._go(Trigger.VICTIMS_GONE)

    def end_eviction(self) -> set[str]:
        """Wait for no more pods to leave; for whom that was."""
        if self.state in WAITS_FOR_VICTIMS:
            self._go(Trigger.VICTIMS_GONE)
        given_up, self.leaving = self.leaving, set()
        return given_up

    def time_out(self) -> None:
        """It should have been scheduled by now."""
        self.timed_out = True

    def _go(self, trigger: Trigger) -> None:
        """The one writer of the state."""
        self.state = group_states.target(self.key, self.state, trigger)

    def validate(self) -> None:
        """Raise AssertionError where the group contradicts itself."""
        assert not self.waiting.keys() & self.placed.keys(), f"{self}: on a node, and waiting"
        assert not self.gated.keys() & self.pods.keys(), f"{self}: gated, and not"
        assert (self.arrived is None) == (not self.waiting), f"{self}: arrived {self.arrived}"
        assert bool(self.leaving) == (self.state in WAITS_FOR_VICTIMS), f"{self}: {self.leaving}"
        assert not self.timed_out or self.waiting, f"{self}: timed out, and nobody waits"
        ready = bool(self.waiting) and self.refusal() is None
        assert ready == (self.state is RELEASED), f"{self}: {self.refusal()}"
        assert not self.backs_off or self.failures, f"{self}: backs off without a failure"

    def __repr__(self) -> str:
        pods = f"{len(self.waiting)} waiting, {len(self.placed)} placed"
        return f"Group({self.key}, {self.state.value}, {pods})"


def _is_gated(pod: Pod) -> bool:
    return bool(pod.spec.scheduling_gates) and not pod.spec.node_name


def _pods(count: int) -> str:
    return "pod" if count == 1 else "pods"
