"""Every group, kept up to date change by change."""

from collections.abc import Container, Iterable, Iterator
from typing import Final

from moorage.api import podgroup
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.cache.podinfo import PodInfo
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import hierarchy
from moorage.gang.group import Group
from moorage.gang.hierarchy import Forest, Home

RAN: Final = frozenset({"Scheduled", "Running"})
"""Phases of a group that has been whole."""


class Directory:
    """Groups by key. While it is not `in_use`, pods that name a group are treated as others.

    It is in use where there can be PodGroups; `by_label` is whether there can be those that labels
    name. `ours` are the schedulers whose pods we may place.
    """

    def __init__(self, ours: Container[str] = ()) -> None:
        self.in_use = False
        self.by_label = True
        self._ours = ours
        self._doomed: set[str] = set()
        self._groups: dict[str, Group] = {}
        self._group_of: dict[str, str] = {}
        self._forest = Forest()
        self._home: dict[str, str] = {}
        """Key of a PodGroup with a parent -> key of the group that its pods are in."""

    def get(self, key: str) -> Group | None:
        return self._groups.get(key)

    def of(self, pod: Pod) -> Group | None:
        """The group a pod belongs to, if it is known of."""
        key = self.key(pod)
        return None if key is None else self._groups.get(self.home(key))

    def names(self, pod: Pod) -> tuple[str, ...]:
        """The groups that a pod names, as far as that means anything."""
        return podgroup.group_names(pod, by_label=self.by_label)

    def key(self, pod: Pod) -> str | None:
        """The PodGroup that a pod is of."""
        return podgroup.group_key(pod, by_label=self.by_label)

    def home(self, key: str) -> str:
        """The key of the group that pods of a PodGroup are in: its own, or that of its root."""
        return self._home.get(key, key)

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)

    def refusal(self, pod: Pod) -> str | None:
        """Why a pod may not be attempted now; None if it may, or belongs to no group."""
        if not self.in_use:
            return None
        found = self.names(pod)
        if not found:
            return None
        if len(found) > 1:
            return f"the pod names {len(found)} pod groups, {' and '.join(found)}: it can be in one"
        key = self.home(f"{pod.namespace}/{found[0]}")
        return (self._groups.get(key) or Group(key)).refusal()

    def ranked_as(self, queued: QueuedPod) -> QueuedPod:
        """The pod to be sorted in place of this one: itself, unless its group is waiting."""
        key = self.key(queued.info.pod) if self.in_use else None
        group = None if key is None else self._groups.get(self.home(key))
        if group is None or group.minimum < 1 or group.arrived is None or group.is_replacing:
            return queued
        info = PodInfo(queued.info.pod, queued.info.cls)
        info.priority = group.priority
        stand_in = QueuedPod(info, group.arrived)
        stand_in.stands_for = queued
        return stand_in

    def put_object(self, obj: PodGroup) -> list[Group]:
        """Take over a PodGroup or CompositePodGroup that is new or has changed; the groups that
        changed."""
        if obj in self._forest:
            self._forest.put(obj)
            return self._replant(obj)
        group = self._open(obj.key)
        group.put_object(obj, has_run=obj.status.phase in RAN)
        return [group]

    def remove_object(self, obj: PodGroup) -> list[Group]:
        if obj in self._forest:
            below = self._forest.leaves(obj)
            self._forest.remove(obj)
            return self._replant(obj, below)
        group = self._groups.get(obj.key)
        if group is None:
            return []
        group.objects.pop(obj.uid, None)
        self._close(group)
        return [group]

    def composites_served(self, served: bool) -> list[Group]:
        """Set whether CompositePodGroups are served; the groups that changed."""
        if self._forest.served == served:
            return []
        self._forest.served = served
        touched = [group for obj in self._forest.composites() for group in self._replant(obj)]
        return touched + [
            group
            for obj in self._forest.orphans()
            for group in self._replant(obj)
            if group not in touched
        ]

    def _replant(self, changed: PodGroup, below: Iterable[PodGroup] = ()) -> list[Group]:
        """Move pods to the groups they belong to, after their PodGroup or one above has changed."""
        leaves = {leaf.key: leaf for leaf in (*below, *self._forest.leaves(changed))}
        roots = {self._forest.home(changed).key, hierarchy.object_key(changed)}
        touched: dict[str, Group] = {}
        for key, leaf in leaves.items():
            there = self._forest.has(leaf)
            home = self._forest.home(leaf) if there else Home(key)
            roots |= {self.home(key), home.key}
            for group in self._move(key, home.key):
                touched[group.key] = group
            own = self._open(key) if home.key == key else self._groups.get(key)
            if own is not None:
                own.objects.pop(leaf.uid, None)
                own.waits_for = home.missing
                if there and home.key == key:
                    own.put_object(leaf, has_run=leaf.status.phase in RAN)
                touched[key] = own
                self._close(own)
        grown = [self._grow(key) for key in roots]
        touched.update({group.key: group for group in grown if group is not None})
        return list(touched.values())

    def _move(self, key: str, home: str) -> list[Group]:
        """Move the pods of a PodGroup to the group `home`; the groups that changed."""
        last = self.home(key)
        if last == home:
            return []
        self._home[key] = home
        if home == key:
            del self._home[key]
        old = self._groups.get(last)
        if old is None:
            return []
        members = (*old.pods.values(), *old.gated.values())
        pods = [pod for pod in members if podgroup.member_key(pod) == key]
        arrived = old.arrived or 0.0
        new = self._open(home)
        for pod in pods:
            old.remove(pod.uid)
            new.add(pod, arrived)
            self._group_of[pod.uid] = home
        self._close(old)
        self._close(new)
        return [old, new]

    def _grow(self, key: str) -> Group | None:
        """The group of a root CompositePodGroup with its present tree; None for other keys."""
        if not hierarchy.names_composite(key):
            return None
        root = self._forest.root(key)
        if root is None:
            group = self._groups.get(key)
            if group is not None:
                group.objects.clear()
                group.tree = None
                self._close(group)
            return group
        group = self._open(key)
        group.put_object(root, has_run=False)
        group.tree = self._forest.tree(root)
        return group

    def put_pod(self, pod: Pod, now: float) -> list[Group]:
        """Follow a pod that was added or has changed; the groups that have more or fewer pods."""
        key = self.key(pod) if self._counts(pod) else None
        group = None if key is None else self._open(self.home(key))
        if group is not None and group.replace(pod):
            return []
        left = self.remove_pod(pod.uid)
        if group is None:
            return left
        self._groups[group.key] = group
        self._group_of[pod.uid] = group.key
        group.add(pod, now)
        return left if group in left else [*left, group]

    def remove_pod(self, uid: str) -> list[Group]:
        """Forget a pod; the group that it left, if any."""
        key = self._group_of.pop(uid, None)
        group = None if key is None else self._groups.get(key)
        if group is None:
            return []
        group.remove(uid)
        self._close(group)
        return [group]

    def doom(self, uids: Iterable[str]) -> list[Group]:
        """Count pods that are about to be evicted as gone; the groups that they left."""
        doomed = list(uids)
        self._doomed.update(doomed)
        return [group for uid in doomed for group in self.remove_pod(uid)]

    def spare(self, uid: str) -> None:
        """Undo `doom` for a pod that is gone or stays: its next version counts again."""
        self._doomed.discard(uid)

    def validate(self) -> None:
        """Raise AssertionError if a group is inconsistent, or the directory contradicts it."""
        for key, group in self._groups.items():
            assert group.key == key, f"{group} is listed as {key}"
            assert not group.is_empty, f"{group} is empty"
            group.validate()
        pods = {uid: g.key for g in self._groups.values() for uid in (*g.pods, *g.gated)}
        assert pods == self._group_of, "pods are counted where they are not listed"

    def _counts(self, pod: Pod) -> bool:
        """Whether the pod is on a node, or one of those that we may put on one some day.

        A terminating pod counts only for Kubernetes' own groups, and only while on a node.
        """
        if pod.is_terminal or pod.uid in self._doomed:
            return False
        if pod.is_terminating:
            own = pod.spec.scheduling_group is not None
            return own and bool(pod.spec.node_name)
        return pod.spec.scheduler_name in self._ours or bool(pod.spec.node_name)

    def _open(self, key: str) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key)
        return group

    def _close(self, group: Group) -> None:
        if group.is_empty:
            self._groups.pop(group.key, None)
