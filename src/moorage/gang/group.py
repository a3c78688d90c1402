"""One group: its object, its pods, and how far it has come."""

from collections.abc import Container

from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup


class Group:
    """Pods that make sense only together, as far as they are known.

    `waiting` are pods without a node that one of our profiles may place, `placed` those on a node;
    pods that are being deleted count as neither. `arrived` is when the first of those that wait
    came. A group has `started` once enough of it ran at the same time; for as long as any of it
    runs, pods that were lost are then replaced one by one.
    """

    __slots__ = (
        "arrived",
        "backing_off",
        "failures",
        "key",
        "leaving",
        "objects",
        "placed",
        "ready",
        "refused_by",
        "retry",
        "started",
        "timed_out",
        "waiting",
    )

    def __init__(self, key: str) -> None:
        self.key = key
        self.objects: dict[str, PodGroup] = {}
        self.waiting: dict[str, Pod] = {}
        self.placed: dict[str, Pod] = {}
        self.arrived: float | None = None
        self.started = False
        self.failures = 0
        self.refused_by: frozenset[str] = frozenset()
        """The plugins that refused the pod that blocked the last attempt."""
        self.backing_off = False
        self.leaving: set[str] = set()
        """The uids of pods that are evicted to make room for this group."""
        self.ready = False
        """Whether its pods were let go when it was last looked at."""
        self.retry = False
        """Whether all of its pods are to be let go, and not only those that are gated."""
        self.timed_out = False

    @property
    def object(self) -> PodGroup | None:
        """What a user has written; of two dialects under one name, what came last."""
        return next(reversed(self.objects.values()), None)

    @property
    def minimum(self) -> int:
        """How many pods must be placed at once; below 1 where they are placed one by one."""
        found = self.object
        return 0 if found is None else found.min_count

    @property
    def members(self) -> int:
        return len(self.waiting) + len(self.placed)

    @property
    def is_empty(self) -> bool:
        return not (self.objects or self.waiting or self.placed)

    @property
    def is_replacing(self) -> bool:
        """Whether pods are placed one by one because the group has been whole before."""
        return self.started and bool(self.placed)

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
        return self.members < self.minimum and not self.is_replacing

    def scheduled(self, assumed: Container[str]) -> int:
        """How many of its pods are on a node, or about to be: `assumed` are uids."""
        return len(self.placed) + sum(uid in assumed for uid in self.waiting)

    def add(self, pod: Pod, now: float) -> None:
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
        if pod.uid not in pods:
            return False
        pods[pod.uid] = pod
        return True

    def remove(self, uid: str) -> None:
        self.waiting.pop(uid, None)
        self.placed.pop(uid, None)
        if not self.waiting:
            self.arrived = None
            self.timed_out = False
        if not self.placed:
            self.started = False

    def note_start(self) -> None:
        """Remember that the group was whole, if it is."""
        if self.placed and len(self.placed) >= self.minimum >= 1:
            self.started = True

    def refusal(self) -> str | None:
        """Why no pod of the group may be attempted now; None where they may."""
        if not self.objects:
            return f"waiting for PodGroup {self.key} to be created"
        if self.minimum < 1:
            return None
        if self.is_incomplete:
            missing = self.minimum - self.members
            return (
                f"waiting for {missing} more {_pods(missing)} of PodGroup {self.key}: "
                f"{self.members} of {self.minimum} exist"
            )
        if self.leaving:
            count = len(self.leaving)
            return f"waiting for {count} {_pods(count)} preempted by PodGroup {self.key} to leave"
        if self.backing_off:
            return f"PodGroup {self.key} backs off after {self.failures} attempts that failed"
        return None

    def __repr__(self) -> str:
        return f"Group({self.key}, {len(self.waiting)} waiting, {len(self.placed)} placed)"


def _pods(count: int) -> str:
    return "pod" if count == 1 else "pods"
