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
    """Which pods of a group to release: those that are gated, or all that wait."""

    GATED = "gated"
    ALL = "all"


class Group:
    """A group: its objects, its pods as far as they are known, and its state.

    `waiting` are pods without a node that one of our profiles may place, `placed` those on a node;
    pods that are being deleted count as neither, but for those of Kubernetes' own groups, which
    count until they are gone from their nodes. `gated` are those behind scheduling gates, which do
    not count yet; Kubernetes' own groups wait for each of them. `arrived` is when the first of
    those that wait came. A group has `started` once enough of it ran at the same time; for as long
    as any of it runs, pods that were lost are then replaced one by one, unless it is Kubernetes'
    own.

    The methods from `settle` on change its `state`, by the table in `group_states`. An illegal
    transition raises GroupError and changes nothing.
    """

    __slots__ = (
        "_kinds",
        "_leaves",
        "_retry",
        "arrived",
        "failures",
        "gated",
        "key",
        "leaving",
        "objects",
        "placed",
        "refused_by",
        "room_helps",
        "setbacks",
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
        self.room_helps = True
        """False once it was refused by these plugins although all of its room was there."""
        self.leaving: set[str] = set()
        """Uids of pods that are evicted to make room for this group."""
        self.timed_out = False
        self.tree: Branch | None = None
        """The tree, if this is a CompositePodGroup's group; its pods are those of the tree."""
        self.waits_for = ""
        """The key of a missing CompositePodGroup above it; empty if none is missing."""
        self.setbacks = 0
        """Counts what may make it less whole: pods that leave nodes, versions of its objects."""
        self._kinds: Kinds = Counter()
        self._leaves: Counter[str] = Counter()
        """PodGroup key -> number of its pods, here or on nodes."""
        self._retry = False
        """Whether all of its pods are released next, and not only those that are gated."""

    @property
    def object(self) -> PodGroup | None:
        """The group's object; if two API groups have one under this name, the latest."""
        return next(reversed(self.objects.values()), None)

    @property
    def minimum(self) -> int:
        """How many pods must be placed at once; below 1 if they are placed one by one.

        For a tree this is a lower bound: `is_whole` decides which pods are enough.
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
        """All pods of the group, by uid."""
        return self.placed | self.waiting

    @property
    def is_empty(self) -> bool:
        return not (self.objects or self.waiting or self.placed or self.gated)

    @property
    def is_replacing(self) -> bool:
        """Whether pods are placed one by one because the group was whole before.

        Never for Kubernetes' own groups: they must always have enough pods.
        """
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
        """Whether pods of the group must still be created."""
        if self.tree is not None:
            return not self.tree.has(self._leaves)
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
        """Why pods of Kubernetes' own group are never tried together, in kube-scheduler's words.

        Empty if they are alike.
        """
        return likeness.refusal(self._kinds, self.object)

    @property
    def retries_all(self) -> bool:
        """Whether all of its pods are released next, and not only those that are gated."""
        return self._retry

    @property
    def title(self) -> str:
        """The group as users know it."""
        return hierarchy.title(self.key)

    def is_whole(self, uids: Collection[str]) -> bool:
        """Whether these pods are enough for the group to run."""
        if self.tree is None:
            return len(uids) >= self.minimum
        return self.tree.has(self.by_leaf(uids))

    def by_leaf(self, uids: Collection[str]) -> Counter[str]:
        """PodGroup key -> number of these pods."""
        both = self.waiting, self.placed
        pods = (pod for found in both for uid, pod in found.items() if uid in uids)
        return Counter(map(podgroup.member_key, pods))

    def scheduled(self, assumed: Container[str]) -> int:
        """How many of its pods are on a node or assumed on one (`assumed` has uids)."""
        return len(self.on_nodes(assumed))

    def on_nodes(self, assumed: Container[str]) -> dict[str, Pod]:
        """Its pods that are on a node or assumed on one (`assumed` has uids)."""
        return self.placed | {uid: pod for uid, pod in self.waiting.items() if uid in assumed}

    def add(self, pod: Pod, now: float) -> None:
        if _is_gated(pod):
            self.gated[pod.uid] = pod
            return
        known = self.waiting.get(pod.uid) or self.placed.get(pod.uid)
        if known is not None:
            self._uncount(known)  # who is added twice is one pod
        self._count(pod)
        if pod.spec.node_name:
            self.placed[pod.uid] = pod
            self.note_start()
            return
        self.waiting[pod.uid] = pod
        if self.arrived is None:
            self.arrived = now

    def replace(self, pod: Pod) -> bool:
        """Take over a new version of a pod; False if it is not here, or was bound since."""
        pods = self.placed if pod.spec.node_name else self.waiting
        if _is_gated(pod):
            pods = self.gated
        known = pods.get(pod.uid)
        if known is None:
            return False
        if pods is self.gated:
            pods[pod.uid] = pod
            return True
        self._uncount(known)
        self._count(pod)
        pods[pod.uid] = pod
        return True

    def remove(self, uid: str) -> None:
        self.gated.pop(uid, None)
        self.setbacks += uid in self.placed
        pod = self.waiting.pop(uid, None) or self.placed.pop(uid, None)
        if pod is not None:
            self._uncount(pod)
        if not self.waiting:
            self.arrived = None
            self.timed_out = False
        if not self.placed:
            self.started = False

    def _count(self, pod: Pod) -> None:
        likeness.count(self._kinds, pod)
        self._leaves[podgroup.member_key(pod)] += 1

    def _uncount(self, pod: Pod) -> None:
        likeness.uncount(self._kinds, pod)
        leaf = podgroup.member_key(pod)
        self._leaves[leaf] -= 1
        if not self._leaves[leaf]:
            del self._leaves[leaf]

    def put_object(self, obj: PodGroup, *, has_run: bool) -> None:
        """Take over a new or changed object; `has_run`: its status says that it was whole."""
        if obj.uid not in self.objects and has_run:
            self.started = True
        self.setbacks += 1
        self.objects.pop(obj.uid, None)
        self.objects[obj.uid] = obj
        self.note_start()

    def note_start(self) -> None:
        """Remember that the group was whole, if it is."""
        if self.placed and len(self.placed) >= self.minimum >= 1:
            self.started = True

    def refusal(self) -> str | None:
        """Why no pod of the group may be attempted now; None if they may be."""
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
            ready = self.tree.satisfied(self._leaves)
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
        """Whether something other than backoff keeps its pods from being attempted.

        Called whenever a pod leaves, so the usual case is checked first: more victims must leave.
        """
        if self.backs_off:
            return False
        return bool(self.leaving and self.minimum >= 1) or self.refusal() is not None

    @property
    def backs_off(self) -> bool:
        return self.state in BACKS_OFF

    def settle(self) -> Release | None:
        """Update the state by whether the group may be tried; which pods to release now, if any."""
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
        """Note that enough of its pods were placed."""
        self.failures = 0

    def refuse(self, plugins: Iterable[str]) -> None:
        """Note which plugins refused the pod that blocked the group."""
        refused_by = frozenset(plugins)
        self.room_helps = self.room_helps or refused_by != self.refused_by
        self.refused_by = refused_by

    def fail(self, *, retry: bool = False) -> None:
        """Back off. Afterwards pods that an event has woken go on; with `retry`, all of them."""
        self._go(Trigger.FAIL)
        self.failures += 1
        self._retry = self._retry or retry

    def retry_all(self) -> None:
        """Release all of its pods next, and not only those that an event has woken."""
        self._retry = True

    def complete_backoff(self) -> None:
        """End the backoff."""
        self._go(Trigger.BACKOFF_COMPLETE)

    def evict(self, victims: Iterable[str]) -> None:
        """Wait for these pods to leave; then all pods of the group are released."""
        self._go(Trigger.EVICT)
        self.leaving = set(victims)
        self._retry = True

    def victim_left(self, uid: str) -> None:
        """Note that a victim is gone."""
        self.leaving.discard(uid)
        if not self.leaving and self.state in WAITS_FOR_VICTIMS:
            self._go(Trigger.VICTIMS_GONE)

    def end_eviction(self) -> set[str]:
        """Stop waiting for pods to leave; the uids of those it waited for."""
        if self.state in WAITS_FOR_VICTIMS:
            self._go(Trigger.VICTIMS_GONE)
        given_up, self.leaving = self.leaving, set()
        return given_up

    def time_out(self) -> None:
        """Note that the group was not scheduled in time."""
        self.timed_out = True

    def _go(self, trigger: Trigger) -> None:
        """Change the state; nothing else writes it."""
        self.state = group_states.target(self.key, self.state, trigger)

    def validate(self) -> None:
        """Raise AssertionError if the group is inconsistent."""
        assert not self.waiting.keys() & self.placed.keys(), f"{self}: on a node, and waiting"
        assert self._leaves == self.by_leaf(self.pods), f"{self}: {self._leaves}"
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
