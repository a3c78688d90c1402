"""VolumeRestrictions: disks that cannot be mounted twice, and ReadWriteOncePod claims."""

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.api.volumes import Volume
from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature, PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Keyed, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable
from moorage.plugins.volumes.awaited_claims import ClaimKey, changed_claim, only_claim
from moorage.plugins.volumes.persistent_volumes import CLAIM, not_found


class DiskMount(NamedTuple):
    """A disk as a pod mounts it: `disk` identifies it, the rest says how it is mounted."""

    disk: tuple[str, ...]
    read_only: bool = False
    monitors: frozenset[str] = frozenset()

    def excludes(self, other: "DiskMount") -> bool:
        if self.disk != other.disk or (self.read_only and other.read_only):
            return False
        return self.disk[0] != "rbd" or bool(self.monitors & other.monitors)


def disk_mounts(pod: Pod) -> tuple[DiskMount, ...]:
    """The disks that a pod mounts directly, without a claim."""
    return tuple(mount for volume in pod.spec.volumes for mount in _volume_mounts(volume))


def _volume_mounts(volume: Volume) -> Iterator[DiskMount]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield DiskMount(("gce", gce.pd_name), gce.read_only)
    if (aws := volume.aws_elastic_block_store) is not None:
        yield DiskMount(("aws", aws.volume_id))
    if (iscsi := volume.iscsi) is not None:
        yield DiskMount(("iscsi", iscsi.iqn), iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        yield DiskMount(("rbd", rbd.pool, rbd.image), rbd.read_only, frozenset(rbd.monitors))


def disks_conflict(pod: Pod, other: Pod) -> bool:
    """Whether two pods cannot be on one node because of a disk."""
    return any(mine.excludes(theirs) for mine in disk_mounts(pod) for theirs in disk_mounts(other))


class VolumeUse(NamedTuple):
    """The claims (by name) and the disks that a class of pods uses."""

    claims: tuple[str, ...]
    mounts: tuple[DiskMount, ...]


def volume_use(info: PodInfo) -> VolumeUse:
    memo: dict[str, Any] = info.cls.memo
    found: VolumeUse | None = memo.get("VolumeRestrictions")
    if found is None:
        found = VolumeUse(tuple(claims_by_name(info.pod)), disk_mounts(info.pod))
        memo["VolumeRestrictions"] = found
    return found


def claims_by_name(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


class VolumesInUse:
    """Claims and disks in use by the table's pods."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], int] = {}
        """(namespace, claim) -> number of pod volumes that use it."""
        self.mounts: dict[tuple[str, ...], dict[tuple[int, DiskMount], int]] = {}
        """disk -> (row, mount) -> number of such mounts."""
        self._pods: Follower[PodChange] = Follower()

    def catch_up(self, table: NodeTable) -> None:
        def afresh() -> list[PodChange]:
            self.claims.clear()
            self.mounts.clear()
            return table.placed_pods()

        self._pods.apply(table.pod_log, afresh, self._count)

    def clashing_rows(self, mount: DiskMount) -> Iterator[int]:
        for row, other in self.mounts.get(mount.disk, ()):
            if mount.excludes(other):
                yield row

    def _count(self, change: PodChange) -> None:
        row, pod, sign = change
        use = volume_use(pod)
        for claim in use.claims:
            _add_to_count(self.claims, (pod.pod.namespace, claim), sign)
        for mount in use.mounts:
            where = self.mounts.setdefault(mount.disk, {})
            _add_to_count(where, (row, mount), sign)
            if not where:
                del self.mounts[mount.disk]


def _add_to_count(counts: dict[Any, int], key: object, sign: int) -> None:
    left = counts.get(key, 0) + sign
    if left:
        counts[key] = left
    else:
        del counts[key]


DISK_CONFLICT: Final = "node(s) had no available disk"
CLAIM_CONFLICT: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"

_DISK, _CLAIM = 1, 2


class ExclusiveClaims:
    """The pod's ReadWriteOncePod claims, and how many of them other pods use.

    As in kube-scheduler, the pods of a trial are matched by the claim's name: their namespace is
    ignored.
    """

    def __init__(self, names: frozenset[str], used: int, table: NodeTable) -> None:
        self.names = names
        self.used = used
        self._trial = Follower(table.pod_log)

    def catch_up(self, cycle: Cycle) -> None:
        self._trial.apply(cycle.table.pod_log, tuple, self._count)

    def _count(self, change: PodChange) -> None:
        self.used += change.sign * self._references(change.pod)

    def _references(self, pod: PodInfo) -> int:
        return sum(claim in self.names for claim in volume_use(pod).claims)


class VolumeRestrictions(PreFilter, Filter, frozen=True):
    needs: ClassVar[Needs] = {"filter": "preFilter"}

    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        names: set[str] = set()
        for name in volume_use(cycle.incoming).claims:
            claim = cycle.get(PersistentVolumeClaim, name, pod.namespace)
            if claim is None:
                return unresolvable(not_found(CLAIM, name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                names.add(name)
        exclusive = self._exclusive(cycle, names)
        if not exclusive.used and not volume_use(cycle.incoming).mounts:
            return SKIP
        cycle.state["VolumeRestrictions"] = exclusive
        return None

    def _exclusive(self, cycle: Cycle, names: set[str]) -> ExclusiveClaims:
        namespace = cycle.pod.namespace
        in_use = _volumes_in_use(cycle).claims if names else {}
        used = sum((namespace, name) in in_use for name in names)
        return ExclusiveClaims(frozenset(names), used, cycle.table)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        exclusive: ExclusiveClaims = cycle.state["VolumeRestrictions"]
        exclusive.catch_up(cycle)
        if exclusive.used > 0:
            out.fill(_CLAIM)
        mounts = volume_use(cycle.incoming).mounts
        if mounts:
            in_use = _volumes_in_use(cycle)
            rows = {row for mount in mounts for row in in_use.clashing_rows(mount)}
            out[nodes.positions(np.fromiter(rows, dtype=np.intp, count=len(rows)))] = _DISK

    def volumes_sign(self, cycle: Cycle) -> Hashable | None:
        """The names of the pod's ReadWriteOncePod claims; other claims make no difference."""
        names = volume_use(cycle.incoming).claims
        found = [cycle.get(PersistentVolumeClaim, name, cycle.pod.namespace) for name in names]
        claims = [claim for claim in found if claim is not None]
        if len(claims) < len(found):
            return None
        return frozenset(c.name for c in claims if READ_WRITE_ONCE_POD in c.spec.access_modes)

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        return True

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable(DISK_CONFLICT if code == _DISK else CLAIM_CONFLICT)

    def events(self) -> tuple[EventHint, ...]:
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        claim = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
        return (
            EventHint(
                gone, after_pod_deleted, per_spec=True, keyed=Keyed(_awaited_claim, _claims_of)
            ),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
            EventHint(
                claim, after_claim_added, per_spec=True, keyed=Keyed(_awaited_claim, changed_claim)
            ),
        )


def _volumes_in_use(cycle: Cycle) -> VolumesInUse:
    in_use: VolumesInUse = cycle.shared.setdefault("VolumeRestrictions", VolumesInUse())
    in_use.catch_up(cycle.table)
    return in_use


def _awaited_claim(pod: Pod) -> ClaimKey | None:
    """The claim that a pod waits for; None if it may also wait for a disk."""
    return None if disk_mounts(pod) else only_claim(pod)


def _claims_of(pod: Pod, _: None) -> set[ClaimKey]:
    return {(pod.namespace, name) for name in claims_by_name(pod)}


def after_pod_deleted(pod: Pod, deleted: Pod, _: None) -> Hint:
    """Queue if the deleted pod used a disk of the pod, or a claim in the pod's namespace."""
    shares_claim = deleted.namespace == pod.namespace and not set(claims_by_name(pod)).isdisjoint(
        claims_by_name(deleted)
    )
    return Hint.QUEUE if disks_conflict(pod, deleted) or shares_claim else Hint.SKIP


def after_claim_added(pod: Pod, _: None, claim: PersistentVolumeClaim) -> Hint:
    wanted = claim.namespace == pod.namespace and claim.name in claims_by_name(pod)
    return Hint.QUEUE if wanted else Hint.SKIP
