"""VolumeZone: a node must match the zone and region labels of the pod's bound volumes."""

from collections.abc import Hashable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL
from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable
from moorage.plugins.volumes.awaited_claims import BY_CLAIM
from moorage.plugins.volumes.csi_migration import ZONE_SEPARATOR
from moorage.plugins.volumes.persistent_volumes import (
    CLAIM,
    STORAGE_CLASS,
    VOLUME,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    not_found,
)

CONFLICT: Final = "node(s) had no available volume zone"
NAMELESS_CLAIM: Final = "PersistentVolumeClaim had no name"
NAMELESS_VOLUME: Final = "PersistentVolume had no name"
NO_VOLUME_AND_NO_CLASS: Final = "PersistentVolumeClaim had no pv name and storageClass name"
MODE_NOT_SET: Final = 'VolumeBindingMode not set for StorageClass "{}"'

TOPOLOGY_LABELS: Final = (BETA_ZONE_LABEL, BETA_REGION_LABEL, ZONE_LABEL, REGION_LABEL)

_GA_LABEL: Final = {BETA_ZONE_LABEL: ZONE_LABEL, BETA_REGION_LABEL: REGION_LABEL}
"""The GA label for each beta label; a node may have it instead."""


_CONFLICT, _UNKNOWN = 1, 2


class Topology(NamedTuple):
    """A label, and the values that a node may have to be in the zone or region of a volume."""

    label: str
    values: frozenset[str]


class VolumeZone(PreFilter, Filter, frozen=True):
    depends = Depends.NODE

    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        wanted = _wanted_topologies(cycle)
        return wanted if isinstance(wanted, Rejection) else None if wanted else SKIP

    def sign(self, cycle: Cycle) -> Hashable | None:
        wanted = _wanted_topologies(cycle)
        return None if isinstance(wanted, Rejection) else frozenset(wanted)

    def volumes_sign(self, cycle: Cycle) -> Hashable | None:
        return self.sign(cycle)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        wanted = _wanted_topologies(cycle)
        labelled = np.zeros(nodes.count, dtype=bool)
        for label in TOPOLOGY_LABELS:
            labelled |= nodes.label(label) != 0
        if isinstance(wanted, Rejection):
            out.fill(_UNKNOWN)
        else:
            for topology in wanted:
                out[labelled & ~_is_near(topology, nodes)] = _CONFLICT

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        wanted = _wanted_topologies(cycle)
        return wanted if isinstance(wanted, Rejection) else unresolvable(CONFLICT)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE
        claim = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, changed)
        storage_class = ClusterEvent(Resource.STORAGE_CLASS, Action.ADD)
        volume = ClusterEvent(Resource.PERSISTENT_VOLUME, changed)
        return (
            EventHint(storage_class, after_class_added, per_event=True),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
            EventHint(claim, after_claim_change, keyed=BY_CLAIM),
            EventHint(volume, after_volume_change, per_event=True),
        )


def _wanted_topologies(cycle: Cycle) -> tuple[Topology, ...] | Rejection:
    """What the pod's volumes require of nodes, computed once per attempt."""
    if "VolumeZone" not in cycle.state:
        cycle.state["VolumeZone"] = _find_topologies(cycle)
    found: tuple[Topology, ...] | Rejection = cycle.state["VolumeZone"]
    return found


def _find_topologies(cycle: Cycle) -> tuple[Topology, ...] | Rejection:
    found: list[Topology] = []
    for name in _claim_names(cycle.pod):
        volume = _bound_volume(cycle, name)
        if isinstance(volume, Rejection):
            return volume
        if volume is not None:
            found.extend(topologies(volume))
    return tuple(found)


def _claim_names(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def _bound_volume(cycle: Cycle, name: str) -> PersistentVolume | Rejection | None:
    """The volume a claim is bound to; None if the scheduler is to bind it."""
    if not name:
        return unresolvable(NAMELESS_CLAIM)
    claim = cycle.get(PersistentVolumeClaim, name, cycle.pod.namespace)
    if claim is None:
        return unresolvable(not_found(CLAIM, name))
    if not claim.spec.volume_name:
        return _unbound(cycle, claim)
    volume = cycle.get(PersistentVolume, claim.spec.volume_name)
    return volume or unresolvable(not_found(VOLUME, claim.spec.volume_name))


def _unbound(cycle: Cycle, claim: PersistentVolumeClaim) -> Rejection | None:
    name = claim_class(claim)
    if not name:
        return unresolvable(NO_VOLUME_AND_NO_CLASS)
    storage_class = cycle.get(StorageClass, name)
    if storage_class is None:
        return unresolvable(not_found(STORAGE_CLASS, name))
    if storage_class.volume_binding_mode is None:
        return unresolvable(MODE_NOT_SET.format(name))
    waits = storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return None if waits else unresolvable(NAMELESS_VOLUME)


def topologies(volume: PersistentVolume) -> Iterator[Topology]:
    """What the volume's labels require of nodes; a label with an empty zone requires nothing."""
    for label in TOPOLOGY_LABELS:
        text = volume.labels.get(label)
        if text is not None:
            values = frozenset(value.strip() for value in text.split(ZONE_SEPARATOR))
            if "" not in values:
                yield Topology(label, values)


def _is_near(topology: Topology, nodes: Nodes) -> NDArray[np.bool_]:
    near = _has_value(topology.label, topology.values, nodes)
    today = _GA_LABEL.get(topology.label)
    if today is not None:
        instead = _has_value(today, topology.values, nodes)
        near |= (nodes.label(topology.label) == 0) & instead
    return near


def _has_value(label: str, values: frozenset[str], nodes: Nodes) -> NDArray[np.bool_]:
    known = nodes.table.label(label).values
    wanted = [found for value in values if (found := known.find(value)) is not None]
    return np.isin(nodes.label(label), wanted)


def after_class_added(pod: Pod, _: None, added: StorageClass) -> Hint:
    waits = added.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return Hint.QUEUE if waits else Hint.SKIP


def after_claim_change(
    pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> Hint:
    wanted = new.namespace == pod.namespace and new.name in _claim_names(pod)
    return Hint.QUEUE if wanted else Hint.SKIP


def after_volume_change(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> Hint:
    if old is None or list(topologies(old)) != list(topologies(new)):
        return Hint.QUEUE
    return Hint.SKIP
