"""How many volumes of each CSI driver every node has attached: upper bounds, and exact counts.

An exact count must read every claim on the node. So each row has an upper bound, which is updated
as pods come and go: every volume that may count, plus every VolumeAttachment. Only rows whose bound
could exceed a limit are counted, and a count is kept until an object that it was made from changes.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.cache.follower import Follower
from moorage.cache.object_store import ObjectStore
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.framework.cycle import Cycle
from moorage.plugins.node_volume_limits.attachable_volumes import (
    Attachable,
    Problem,
    VolumeId,
    attachable_volumes,
    is_attachable,
    may_be_uncountable,
)
from moorage.plugins.volumes.object_changes import ObjectTracker
from moorage.plugins.volumes.persistent_volumes import claim_name

NO_ROW: Final = -1
"""A row number that no node has."""


class NodeCount(NamedTuple):
    """The volumes of a node's pods, and all that are attached; or why they cannot be counted."""

    by_pods: set[VolumeId]
    attached: set[VolumeId]
    problem: str = ""


class CountsByRow:
    """Counts by row, and columns over those rows that are `known`."""

    def __init__(self) -> None:
        self.known: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.problems: dict[int, str] = {}
        """Rows where counting failed, and why."""
        self._counted: dict[int, NodeCount] = {}
        self._counts: dict[str, NDArray[np.int64]] = {}
        self._holders: dict[VolumeId, set[int]] = {}
        self._readers: dict[tuple[type[Any], str], set[int]] = {}

    def count(self, driver: str) -> NDArray[np.int64]:
        """int64 (row): the attached volumes of a driver, on rows that are `known`."""
        found = self._counts.get(driver)
        return found if found is not None else np.zeros(len(self.known), dtype=np.int64)

    def holders(self, name: VolumeId) -> set[int]:
        """Rows with a pod that has the volume."""
        return self._holders.get(name, set())

    def put(self, row: int, counted: NodeCount) -> None:
        self.known[row] = True
        self._counted[row] = counted
        if counted.problem:
            self.problems[row] = counted.problem
        for name in counted.by_pods:
            self._holders.setdefault(name, set()).add(row)
        for driver, _ in counted.attached:
            if driver not in self._counts:
                self._counts[driver] = np.zeros(len(self.known), dtype=np.int64)
            self._counts[driver][row] += 1

    def depends(self, row: int, kind: type[Any], key: str) -> None:
        """Note that the count of a row depends on an object, which need not exist."""
        self._readers.setdefault((kind, key), set()).add(row)

    def changed(self, kind: type[Any], key: str) -> None:
        """Forget the counts that depend on an object."""
        for row in self._readers.pop((kind, key), ()):
            self.forget(row)

    def forget(self, row: int) -> None:
        counted = self._counted.pop(row, None)
        if counted is None:
            return
        self.known[row] = False
        self.problems.pop(row, None)
        for name in counted.by_pods:
            self._holders[name].discard(row)
        for driver, _ in counted.attached:
            self._counts[driver][row] = 0

    def forget_all(self) -> None:
        self.known.fill(False)
        self.problems.clear()
        for kept in (self._counted, self._counts, self._holders, self._readers):
            kept.clear()

    def grow(self, capacity: int) -> None:
        if capacity != len(self.known):
            self.forget_all()
            self.known = np.zeros(capacity, dtype=bool)


class PodUpperBound(NamedTuple):
    """The volumes of a pod that may count, and how many of them may turn out to be invalid."""

    volumes: int
    doubtful: int


class AttachedVolumes:
    """Upper bounds for all rows, and exact counts for the rows that were asked about."""

    def __init__(self) -> None:
        self.rows = CountsByRow()
        self.doubtful: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """int64 (row): volumes of pods that may turn out to be invalid."""
        self._of_pods: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._of_attachments: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._by_node: dict[str, dict[str, VolumeAttachment]] = {}
        self._claims = ObjectTracker(PersistentVolumeClaim)
        self._volumes = ObjectTracker(PersistentVolume)
        self._attachments = ObjectTracker(VolumeAttachment)
        self._class_version = -1
        self._nodes: Follower[int] = Follower()
        self._pods: Follower[PodChange] = Follower()

    @property
    def at_most(self) -> NDArray[np.int64]:
        """int64 (row): the upper bound of attached volumes."""
        return self._of_pods + self._of_attachments

    def catch_up(self, cycle: Cycle) -> None:
        """Bring the bounds up to date."""
        table, objects = cycle.table, cycle.cache.objects
        self._grow(len(table.alive))
        self._read_attachments(table, objects)
        self._read_pods(table)

    def count(self, cycle: Cycle, rows: Iterable[int]) -> None:
        """Count the attached volumes of these rows, if unknown or if they may have changed."""
        self._read_storage(cycle.cache.objects)
        for row in rows:
            if not self.rows.known[row]:
                self.rows.put(row, self._count(cycle, row))

    def _count(self, cycle: Cycle, row: int) -> NodeCount:
        objects, by_pods = cycle.cache.objects, set[VolumeId]()
        for info in cycle.table.pods[row].values():
            if not _pod_upper_bound(info).volumes:
                continue
            self._note_claims(objects, row, info.pod)
            for volume in attachable_volumes(objects, info.pod):
                if isinstance(volume, Problem):
                    return NodeCount(set(), set(), volume.message)
                if isinstance(volume, Attachable):
                    by_pods.add(volume.name)
        return NodeCount(
            by_pods, by_pods | self._attached(objects, row, cycle.table.node(row).name)
        )

    def _note_claims(self, objects: ObjectStore, row: int, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume)
            if name is None:
                continue
            claim = objects.get(PersistentVolumeClaim, name, pod.namespace)
            self.rows.depends(row, PersistentVolumeClaim, f"{pod.namespace}/{name}")
            if claim is not None:
                self.rows.depends(row, PersistentVolume, claim.spec.volume_name)

    def _attached(self, objects: ObjectStore, row: int, node: str) -> set[VolumeId]:
        names: set[VolumeId] = set()
        for attachment in self._by_node.get(node, {}).values():
            volume_name = attachment.spec.source.persistent_volume_name
            if not attachment.spec.attacher or volume_name is None:
                continue
            self.rows.depends(row, PersistentVolume, volume_name)
            volume = objects.get(PersistentVolume, volume_name)
            if volume is not None and volume.spec.csi is not None:
                names.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        return names

    def _read_storage(self, objects: ObjectStore) -> None:
        if objects.version(StorageClass) != self._class_version:
            self.rows.forget_all()
            self._class_version = objects.version(StorageClass)
        for old, new in self._claims.catch_up(objects):
            for claim in filter(None, (old, new)):
                self.rows.changed(PersistentVolumeClaim, f"{claim.namespace}/{claim.name}")
        for before, after in self._volumes.catch_up(objects):
            for volume in filter(None, (before, after)):
                self.rows.changed(PersistentVolume, volume.name)

    def _read_attachments(self, table: NodeTable, objects: ObjectStore) -> None:
        changes = self._attachments.catch_up(objects)
        if not changes and not self._nodes.is_behind(table.node_log):
            return
        self._forget_changed_nodes(table)
        for old, new in changes:
            if old is not None:
                del self._by_node[old.spec.node_name][old.name]
            if new is not None:
                self._by_node.setdefault(new.spec.node_name, {})[new.name] = new
            for attachment in filter(None, (old, new)):
                self.rows.forget(table.row_of.get(attachment.spec.node_name, NO_ROW))
        self._of_attachments.fill(0)
        for node, attachments in self._by_node.items():
            row = table.row_of.get(node)
            if row is not None:
                self._of_attachments[row] = len(attachments)

    def _forget_changed_nodes(self, table: NodeTable) -> None:
        def afresh() -> tuple[int, ...]:
            self.rows.forget_all()
            return ()

        self._nodes.apply(table.node_log, afresh, self.rows.forget)

    def _read_pods(self, table: NodeTable) -> None:
        def afresh() -> list[PodChange]:
            self.rows.forget_all()
            self._of_pods.fill(0)
            self.doubtful.fill(0)
            return table.placed_pods()

        self._pods.apply(table.pod_log, afresh, self._add)

    def _add(self, change: PodChange) -> None:
        row, pod, sign = change
        volumes, doubtful = _pod_upper_bound(pod)
        if volumes:
            self._of_pods[row] += sign * volumes
            self.doubtful[row] += sign * doubtful
            self.rows.forget(row)

    def _grow(self, capacity: int) -> None:
        self.rows.grow(capacity)
        more = np.zeros(capacity - len(self._of_pods), dtype=np.int64)
        if len(more):
            self._of_pods = np.concatenate((self._of_pods, more))
            self._of_attachments = np.concatenate((self._of_attachments, more))
            self.doubtful = np.concatenate((self.doubtful, more))


def _pod_upper_bound(pod: PodInfo) -> PodUpperBound:
    memo: dict[str, Any] = pod.cls.memo
    found: PodUpperBound | None = memo.get("NodeVolumeLimits")
    if found is None:
        volumes = [volume for volume in pod.pod.spec.volumes if is_attachable(volume)]
        found = memo["NodeVolumeLimits"] = PodUpperBound(
            len(volumes), sum(map(may_be_uncountable, volumes))
        )
    return found
