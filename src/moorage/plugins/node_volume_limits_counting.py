"""How many volumes each node has attached.

Counting exactly takes a look at every claim on the node. So rows first get an upper bound, which
pods coming and going keep up to date: every volume that may count, and every VolumeAttachment. Only
rows whose bound could pass a limit are counted, and a count is kept until something it was made of
changes.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
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
    Name,
    Problem,
    attachables,
    is_attachable,
    may_be_wrong,
)
from moorage.plugins.node_volume_limits_rows import Counted, Rows
from moorage.plugins.volume_changes import Seen
from moorage.plugins.volume_claims import claim_name


class Attachments:
    """Upper bounds for all rows, exact counts for those asked about."""

    def __init__(self) -> None:
        self.at_most: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """(row) No more volumes than these are attached."""
        self.doubtful: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """(row) Volumes of pods that may turn out to be wrong."""
        self.rows = Rows()
        self._by_node: dict[str, dict[str, VolumeAttachment]] = {}
        self._claims = Seen(PersistentVolumeClaim)
        self._volumes = Seen(PersistentVolume)
        self._attachments = Seen(VolumeAttachment)
        self._class_version = -1
        self._node_version = -1
        self._pod_version = -1

    def catch_up(self, cycle: Cycle) -> None:
        """Bring bounds up to date; drop counts that may be wrong by now."""
        table, objects = cycle.table, cycle.cache.objects
        self._grow(len(table.alive))
        self._read_objects(table, objects)
        self._read_nodes(table)
        self._read_pods(table)

    def count(self, cycle: Cycle, rows: Iterable[int]) -> None:
        """Count what is attached to these rows, where that is not known."""
        for row in rows:
            if not self.rows.known[row]:
                self._count(cycle, row)

    def _count(self, cycle: Cycle, row: int) -> None:
        objects, node = cycle.cache.objects, cycle.table.node(row).name
        by_pods: set[Name] = set()
        problem = ""
        for info in cycle.table.pods[row].values():
            if not _bound(info).volumes:
                continue
            self._remember_claims(objects, row, info.pod)
            for volume in attachables(objects, info.pod):
                if isinstance(volume, Problem):
                    problem = problem or volume.message
                elif isinstance(volume, Attachable):
                    by_pods.add(volume.name)
        self.rows.put(row, Counted(by_pods, by_pods | self._attached(objects, row, node), problem))

    def _remember_claims(self, objects: Objects, row: int, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume)
            if name is not None:
                self.rows.depends(row, PersistentVolumeClaim, f"{pod.namespace}/{name}")
                claim = objects.get(PersistentVolumeClaim, name, pod.namespace)
                if claim is not None:
                    self.rows.depends(row, PersistentVolume, claim.spec.volume_name)

    def _attached(self, objects: Objects, row: int, node: str) -> set[Name]:
        names: set[Name] = set()
        for attachment in self._by_node.get(node, {}).values():
            volume_name = attachment.spec.source.persistent_volume_name
            if not attachment.spec.attacher or volume_name is None:
                continue
            self.rows.depends(row, PersistentVolume, volume_name)
            volume = objects.get(PersistentVolume, volume_name)
            if volume is not None and volume.spec.csi is not None:
                names.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        return names

    def _read_objects(self, table: NodeTable, objects: Objects) -> None:
        version = objects.version(StorageClass)
        if version != self._class_version:
            self.rows.forget_all()
            self._class_version = version
        for claim in self._claims.catch_up(objects):
            key = (claim.new or claim.old or PersistentVolumeClaim()).metadata
            self.rows.changed(PersistentVolumeClaim, f"{key.namespace}/{key.name}")
        for volume in self._volumes.catch_up(objects):
            found = volume.new or volume.old or PersistentVolume()
            self.rows.changed(PersistentVolume, found.name)
        for attachment in self._attachments.catch_up(objects):
            self._move(table, attachment.old, -1)
            self._move(table, attachment.new, 1)

    def _move(self, table: NodeTable, attachment: VolumeAttachment | None, sign: int) -> None:
        if attachment is None:
            return
        there = self._by_node.setdefault(attachment.spec.node_name, {})
        if sign > 0:
            there[attachment.name] = attachment
        else:
            del there[attachment.name]
        row = table.row_of.get(attachment.spec.node_name)
        if row is not None and self._node_version >= 0:
            self.at_most[row] += sign
            self.rows.forget(row)
