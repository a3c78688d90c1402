"""How many volumes each node has attached.

Counting exactly takes a look at every claim on the node. So rows first get an upper bound, which
pods coming and going keep up to date: every volume that may count, and every VolumeAttachment. Only
rows whose bound could pass a limit are counted, and the count is kept until something changes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.cache.objects import Objects
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.plugins.node_volume_limits_resolving import (
    Attachable,
    Problem,
    attachables,
    is_attachable,
    may_be_wrong,
)

Name = tuple[str, str]
"""(driver, handle): the same volume in two pods is one."""

_READ = (PersistentVolumeClaim, PersistentVolume, StorageClass, VolumeAttachment)


class Attached(NamedTuple):
    """What a node has attached: volumes of its pods, and the number of volumes by driver."""

    by_pods: frozenset[Name]
    counts: dict[str, int]
    problem: str = ""


class Attachments:
    """Upper bounds for all rows, exact counts for those asked about."""

    def __init__(self) -> None:
        self.at_most: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """(row) No more volumes than these are attached."""
        self.doubtful: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """(row) Volumes of pods that may turn out to be wrong."""
        self._exact: dict[int, Attached] = {}
        self._by_node: dict[str, list[VolumeAttachment]] = {}
        self._attachments: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._pod_version = -1
        self._node_version = -1
        self._versions: tuple[int, ...] = ()

    def catch_up(self, cycle: Cycle) -> None:
        table, objects = cycle.table, cycle.cache.objects
        self._grow(len(table.alive))
        versions = tuple(objects.version(kind) for kind in _READ)
        if versions != self._versions or table.node_log.version != self._node_version:
            self._exact.clear()
            self._count_attachments(table, objects)
            self._versions, self._node_version = versions, table.node_log.version
        self._count_pods(table)

    def on(self, cycle: Cycle, row: int) -> Attached:
        """What is attached to a row, exactly."""
        found = self._exact.get(row)
        if found is None:
            found = self._exact[row] = self._count(cycle, row)
        return found

    def _count(self, cycle: Cycle, row: int) -> Attached:
        objects = cycle.cache.objects
        by_pods: set[Name] = set()
        for pod in cycle.table.pods[row].values():
            if not _bound(pod)[0]:
                continue
            for volume in attachables(objects, pod.pod):
                if isinstance(volume, Problem):
                    return Attached(frozenset(), {}, volume.message)
                if isinstance(volume, Attachable):
                    by_pods.add((volume.driver, volume.handle))
        attached = by_pods | self._attached_names(objects, cycle.table.node(row).name)
        counts: dict[str, int] = {}
        for driver, _ in attached:
            counts[driver] = counts.get(driver, 0) + 1
        return Attached(frozenset(by_pods), counts)

    def _attached_names(self, objects: Objects, node: str) -> set[Name]:
        names: set[Name] = set()
        for attachment in self._by_node.get(node, ()):
            volume_name = attachment.spec.source.persistent_volume_name
            if not attachment.spec.attacher or volume_name is None:
                continue
            volume = objects.get(PersistentVolume, volume_name)
            if volume is not None and volume.spec.csi is not None:
                names.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        return names

    def _count_attachments(self, table: NodeTable, objects: Objects) -> None:
        self._by_node.clear()
        for attachment in objects.all(VolumeAttachment):
            self._by_node.setdefault(attachment.spec.node_name, []).append(attachment)
        before = self._attachments.copy()
        self._attachments.fill(0)
        for node, attachments in self._by_node.items():
            row = table.row_of.get(node)
            if row is not None:
                self._attachments[row] = len(attachments)
        self.at_most += self._attachments - before

    def _count_pods(self, table: NodeTable) -> None:
        log = table.pod_log
        changes = log.since(self._pod_version) if self._pod_version >= 0 else None
        if changes is None:
            self._exact.clear()
            self.at_most[:] = self._attachments
            self.doubtful.fill(0)
            for row, pods in enumerate(table.pods):
                for pod in pods.values():
                    self._add(row, pod, 1)
        else:
            for row, pod, sign in changes:
                self._add(row, pod, sign)
        self._pod_version = log.version

    def _add(self, row: int, pod: PodInfo, sign: int) -> None:
        volumes, doubtful = _bound(pod)
        if volumes:
            self.at_most[row] += sign * volumes
            self.doubtful[row] += sign * doubtful
            self._exact.pop(row, None)

    def _grow(self, capacity: int) -> None:
        missing = capacity - len(self.at_most)
        if missing:
            more = np.zeros(missing, dtype=np.int64)
            self.at_most = np.concatenate((self.at_most, more))
            self.doubtful = np.concatenate((self.doubtful, more))
            self._attachments = np.concatenate((self._attachments, more))


def _bound(pod: PodInfo) -> tuple[int, int]:
    """How many of the pod's volumes may count, and how many of those may turn out wrong."""
    memo: dict[str, Any] = pod.cls.memo
    found: tuple[int, int] | None = memo.get("NodeVolumeLimits")
    if found is None:
        volumes = [volume for volume in pod.pod.spec.volumes if is_attachable(volume)]
        found = memo["NodeVolumeLimits"] = (len(volumes), sum(map(may_be_wrong, volumes)))
    return found
