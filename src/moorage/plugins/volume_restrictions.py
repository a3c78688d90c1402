"""VolumeRestrictions: disks that cannot be shared, and claims that are for one pod alone."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.cache.podinfo import Feature, PodInfo
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable
from moorage.plugins.volume_claims import CLAIM, not_found
from moorage.plugins.volume_disks import InUse, claims_by_name, clash, use_of

DISK_CONFLICT: Final = "node(s) had no available disk"
CLAIM_CONFLICT: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"

_DISK, _CLAIM = 1, 2


class Exclusive:
    """The pod's claims that are for one pod alone, and how often other pods use them.

    A trial's pods count by the claim's name, as in kube-scheduler: their namespace is not asked.
    """

    def __init__(self, names: frozenset[str], used: int, version: int) -> None:
        self.names = names
        self.used = used
        self.version = version

    def catch_up(self, cycle: Cycle) -> None:
        log = cycle.table.pod_log
        if self.version != log.version:
            for _, pod, sign in log.since(self.version) or ():
                self.used += sign * self._references(pod)
            self.version = log.version

    def _references(self, pod: PodInfo) -> int:
        return sum(claim in self.names for claim in use_of(pod).claims)


class VolumeRestrictions(PreFilter, Filter, frozen=True):
    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        names: set[str] = set()
        for name in use_of(cycle.incoming).claims:
            claim = cycle.get(PersistentVolumeClaim, name, pod.namespace)
            if claim is None:
                return unresolvable(not_found(CLAIM, name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                names.add(name)
        exclusive = self._exclusive(cycle, names)
        if not exclusive.used and not use_of(cycle.incoming).mounts:
            return SKIP
        cycle.state["VolumeRestrictions"] = exclusive
        return None

    def _exclusive(self, cycle: Cycle, names: set[str]) -> Exclusive:
        namespace, version = cycle.pod.namespace, cycle.table.pod_log.version
        in_use = _in_use(cycle).claims if names else {}
        used = sum((namespace, name) in in_use for name in names)
        return Exclusive(frozenset(names), used, version)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        exclusive: Exclusive = cycle.state["VolumeRestrictions"]
        exclusive.catch_up(cycle)
        if exclusive.used > 0:
            out.fill(_CLAIM)
        mounts = use_of(cycle.incoming).mounts
        if mounts:
            in_use = _in_use(cycle)
            rows = {row for mount in mounts for row in in_use.clashing_rows(mount)}
            out[nodes.positions(np.fromiter(rows, dtype=np.intp, count=len(rows)))] = _DISK

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable(DISK_CONFLICT if code == _DISK else CLAIM_CONFLICT)

    def events(self) -> tuple[EventHint, ...]:
        return (
            EventHint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), after_pod_deleted),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
            EventHint(
                ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD), after_claim_added
            ),
        )


def _in_use(cycle: Cycle) -> InUse:
    in_use: InUse = cycle.shared.setdefault("VolumeRestrictions", InUse())
    in_use.catch_up(cycle.table)
    return in_use


def after_pod_deleted(pod: Pod, deleted: Pod, _: None) -> Hint:
    """Disks know no namespaces; claims do."""
    shares_claim = deleted.namespace == pod.namespace and not set(claims_by_name(pod)).isdisjoint(
        claims_by_name(deleted)
    )
    return Hint.QUEUE if clash(pod, deleted) or shares_claim else Hint.SKIP


def after_claim_added(pod: Pod, _: None, claim: PersistentVolumeClaim) -> Hint:
    wanted = claim.namespace == pod.namespace and claim.name in claims_by_name(pod)
    return Hint.QUEUE if wanted else Hint.SKIP
