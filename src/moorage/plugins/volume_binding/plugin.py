"""The VolumeBinding plugin: its extension points, and the events that may help a refused pod."""

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api import quantity
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.config.plugin_args import CAPACITY_SHAPE, UtilizationShapePoint
from moorage.framework.cycle import Client, Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.plugin import Carried, Needs
from moorage.framework.points import Filter, PreBind, PreFilter, PreScore, Reserve, Score
from moorage.framework.verdicts import SKIP, PluginError, Rejection, Skip, unresolvable
from moorage.plugins.volume_binding import binder, pod_claims, scorer
from moorage.plugins.volume_binding.binder import BindingFailedError, PodVolumes
from moorage.plugins.volume_binding.pod_claims import PodClaims
from moorage.plugins.volume_binding.volume_cache import VOLUME_CACHE, VolumeCache, volume_cache_of
from moorage.plugins.volume_binding.volume_search import (
    BIND_CONFLICT,
    BROKEN,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_MISSING,
    SearchResult,
    VolumeSearch,
)
from moorage.plugins.volumes.awaited_claims import BY_CLAIM
from moorage.plugins.volumes.csi_migration import MIGRATED_PLUGINS
from moorage.plugins.volumes.persistent_volumes import names_claim


def event_hints() -> tuple[EventHint, ...]:
    changed = Action.ADD | Action.UPDATE
    claim, pool = Resource.PERSISTENT_VOLUME_CLAIM, Resource.CSI_STORAGE_CAPACITY
    driver = ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE | Action.DELETE)
    storage_class = ClusterEvent(Resource.STORAGE_CLASS, changed)
    csi_node = ClusterEvent(Resource.CSI_NODE, changed)
    return (
        EventHint(storage_class, after_class_change, per_event=True),
        EventHint(ClusterEvent(claim, changed), after_claim_change, keyed=BY_CLAIM),
        EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME, changed)),
        EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
        EventHint(csi_node, after_csi_node_change, per_event=True),
        EventHint(driver, after_driver_change, per_event=True),
        EventHint(ClusterEvent(pool, changed), after_capacity_change, per_event=True),
    )


def after_class_change(pod: Pod, old: StorageClass | None, new: StorageClass) -> Hint:
    unchanged = old is not None and old.allowed_topologies == new.allowed_topologies
    return Hint.SKIP if unchanged else Hint.QUEUE


def after_claim_change(
    pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> Hint:
    return Hint.QUEUE if names_claim(pod, new) else Hint.SKIP


def after_csi_node_change(pod: Pod, old: CSINode | None, new: CSINode) -> Hint:
    if old is None:
        return Hint.QUEUE
    before = old.annotations.get(MIGRATED_PLUGINS, "")
    return Hint.QUEUE if before != new.annotations.get(MIGRATED_PLUGINS, "") else Hint.SKIP


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver | None) -> Hint:
    """Queue if the driver stops reporting storage capacity.

    Whether it is the pod's driver is not checked: the hint cannot read the claims' classes.
    """
    stopped = old.spec.storage_capacity and (new is None or not new.spec.storage_capacity)
    return Hint.QUEUE if stopped else Hint.SKIP


def after_capacity_change(
    pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> Hint:
    if old is None:
        return Hint.QUEUE
    before, after = _capacity_limit(old), _capacity_limit(new)
    grew = after is not None and (before is None or after > before)
    return Hint.QUEUE if grew else Hint.SKIP


def _capacity_limit(capacity: CSIStorageCapacity) -> int | None:
    limit = capacity.maximum_volume_size or capacity.capacity
    return None if limit is None else quantity.value(limit)


REASONS: Final = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    BIND_CONFLICT: "node(s) didn't find available persistent volumes to bind",
    NOT_ENOUGH_SPACE: "node(s) did not have enough free storage",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
"""The reason for each bit of a code, in the order in which they are reported."""

TIMED_OUT: Final = "context deadline exceeded"


class BindingState:
    """What one attempt knows of the pod's claims."""

    def __init__(self, search: VolumeSearch) -> None:
        self.search = search
        self.filtered = False
        """Whether nodes were searched: if Filter is disabled there is nothing to score."""
        self.everywhere: SearchResult | None = None
        """The result of the search over all rows."""
        self.plan: PodVolumes | None = None
        """What Reserve assumed for the pod's node; None if no claim is to be bound."""


class VolumeBinding(PreFilter, Filter, PreScore, Score, Reserve, PreBind, frozen=True):
    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] = CAPACITY_SHAPE

    depends = Depends.NODE
    needs: ClassVar[Needs] = {
        "filter": "preFilter",
        "preScore": "preFilter",
        "score": "preFilter",
    }
    scores_in_range = True
    allow_parallel = True
    carried: ClassVar[Carried] = {VOLUME_CACHE: VolumeCache}

    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        found = pod_claims.find_pod_claims(cycle)
        if found is None:
            return SKIP
        if isinstance(found, Rejection):
            return found
        cycle.state["VolumeBinding"] = BindingState(VolumeSearch(cycle, found))
        return None

    def sign(self, cycle: Cycle) -> Hashable | None:
        """The reach of bound volumes; None if a claim is unbound: the result may change."""
        return _reach(_state(cycle).search)

    def volumes_sign(self, cycle: Cycle) -> Hashable | None:
        found = pod_claims.find_pod_claims(cycle)
        return _reach(VolumeSearch(cycle, found)) if isinstance(found, PodClaims) else None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        state = _state(cycle)
        found = state.search.run(cycle, nodes)
        out[:] = found.codes
        state.filtered = True
        if nodes.count == cycle.table.rows:
            state.everywhere = found

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        return True

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code & BROKEN:
            raise PluginError("VolumeBinding", "Filter", _state(cycle).search.problem)
        return unresolvable(*(reason for bit, reason in REASONS.items() if code & bit))

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        state: BindingState | None = cycle.state.get("VolumeBinding")
        return None if state is not None and state.search.claims.delayed else SKIP

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        state = _state(cycle)
        everywhere = state.everywhere
        if not state.filtered:
            return
        if everywhere is not None and len(everywhere.codes) == cycle.table.rows:
            found = everywhere.at(nodes)
        else:
            found = state.search.run(cycle, nodes)
        out[:] = scorer.capacity_scores(found, state.search.candidates, self.shape)

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        state: BindingState | None = cycle.state.get("VolumeBinding")
        if state is None or not state.search.claims.delayed:
            return None
        found = state.search.run(cycle, Nodes.one(cycle.table, cycle.table.row_of[node.name]))
        if found.codes[0]:
            return self.rejection(cycle, pod, int(found.codes[0]))
        wanted = binder.pod_volumes(found, state.search.candidates)
        state.plan = binder.assume_pod_volumes(
            cycle.cache.objects, volume_cache_of(cycle), wanted, node.name
        )
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        state: BindingState | None = cycle.state.get("VolumeBinding")
        if state is not None and state.plan is not None:
            binder.revert_pod_volumes(volume_cache_of(cycle), state.plan)

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        state: BindingState | None = cycle.state.get("VolumeBinding")
        return SKIP if state is None or state.plan is None else None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        state: BindingState | None = cycle.state.get("VolumeBinding")
        if state is None or state.plan is None:
            return None
        if cycle.client is None:
            raise LookupError("there is no API server to bind volumes at")
        await binder.write_pod_volumes(cycle, cycle.client, state.plan)
        await self._wait(cycle, pod, node, cycle.client, state.plan)
        return None

    async def _wait(
        self, cycle: Cycle, pod: Pod, node: Node, client: Client, written: PodVolumes
    ) -> None:
        try:
            done = await client.wait_until(
                lambda: binder.check_bindings(cycle, pod, node.name, written),
                self.bind_timeout_seconds,
            )
        except BindingFailedError as error:
            raise _not_bound(str(error)) from error
        if not done:
            raise _not_bound(TIMED_OUT)

    def events(self) -> tuple[EventHint, ...]:
        return event_hints()


def _reach(search: VolumeSearch) -> Hashable | None:
    """The reach of bound claims' volumes; None if a claim is unbound or a volume may migrate."""
    if search.claims.delayed or any(bound.plugin for bound in search.bound):
        return None
    return tuple((bound.volume is None, bound.reach) for bound in search.bound)


def _not_bound(why: str) -> PluginError:
    return PluginError("VolumeBinding", "PreBind", f"binding volumes: {why}")


def _state(cycle: Cycle) -> BindingState:
    found: BindingState = cycle.state["VolumeBinding"]
    return found
