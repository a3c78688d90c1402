"""Disks that pods mount by name: which exclude each other, and which rows hold which.

A disk of GCE, AWS, iSCSI or Ceph RBD may be mounted once on a node, or several times where its kind
allows that and every mount is read-only.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from moorage.api.pod import Pod
from moorage.api.volumes import Volume
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable


class Mount(NamedTuple):
    """A disk as a pod mounts it: `disk` is its identity, the rest is how it is reached."""

    disk: tuple[str, ...]
    read_only: bool = False
    monitors: frozenset[str] = frozenset()

    def excludes(self, other: "Mount") -> bool:
        if self.disk != other.disk or (self.read_only and other.read_only):
            return False
        return self.disk[0] != "rbd" or bool(self.monitors & other.monitors)


def mounts(pod: Pod) -> tuple[Mount, ...]:
    """The disks that a pod mounts by name, without going through a claim."""
    return tuple(mount for volume in pod.spec.volumes for mount in _mounts(volume))


def _mounts(volume: Volume) -> Iterator[Mount]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield Mount(("gce", gce.pd_name), gce.read_only)
    if (aws := volume.aws_elastic_block_store) is not None:
        yield Mount(("aws", aws.volume_id))
    if (iscsi := volume.iscsi) is not None:
        yield Mount(("iscsi", iscsi.iqn), iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        yield Mount(("rbd", rbd.pool, rbd.image), rbd.read_only, frozenset(rbd.monitors))


def clash(pod: Pod, other: Pod) -> bool:
    """Whether two pods cannot be on one node because of a disk."""
    return any(mine.excludes(theirs) for mine in mounts(pod) for theirs in mounts(other))


class Use(NamedTuple):
    """What a class of pods uses: claims by name, and disks."""

    claims: tuple[str, ...]
    mounts: tuple[Mount, ...]


def use_of(info: PodInfo) -> Use:
    memo: dict[str, Any] = info.cls.memo
    found: Use | None = memo.get("VolumeRestrictions")
    if found is None:
        found = Use(tuple(claims_by_name(info.pod)), mounts(info.pod))
        memo["VolumeRestrictions"] = found
    return found


def claims_by_name(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


class InUse:
    """Claims and disks in use, kept up with the table's pods."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], int] = {}
        """(namespace, claim) -> how many volumes of pods are that claim's."""
        self.mounts: dict[tuple[str, ...], dict[tuple[int, Mount], int]] = {}
        """disk -> (row, how it is mounted) -> how many times."""
        self._version = -1

    def catch_up(self, table: NodeTable) -> None:
        log = table.pod_log
        if self._version == log.version:
            return
        changes = log.since(self._version) if self._version >= 0 else None
        if changes is None:
            self.claims.clear()
            self.mounts.clear()
            for row, pods in enumerate(table.pods):
                for pod in pods.values():
                    self._count(row, pod, 1)
        else:
            for row, pod, sign in changes:
                self._count(row, pod, sign)
        self._version = log.version

    def clashing_rows(self, mount: Mount) -> Iterator[int]:
        for row, other in self.mounts.get(mount.disk, ()):
            if mount.excludes(other):
                yield row

    def _count(self, row: int, pod: PodInfo, sign: int) -> None:
        use = use_of(pod)
        for claim in use.claims:
            _add(self.claims, (pod.pod.namespace, claim), sign)
        for mount in use.mounts:
            where = self.mounts.setdefault(mount.disk, {})
            _add(where, (row, mount), sign)
            if not where:
                del self.mounts[mount.disk]


def _add(counts: dict[Any, int], key: object, sign: int) -> None:
    left = counts.get(key, 0) + sign
    if left:
        counts[key] = left
    else:
        del counts[key]
