"""The VolumeBinding plugin: its extension points."""

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.columns import Depends
from moorage.cache.podinfo import Feature
from moorage.cache.view import Nodes
from moorage.config.plugin_args import CAPACITY_SHAPE, UtilizationShapePoint
from moorage.framework.cycle import Client, Cycle
from moorage.framework.events import EventHint
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, PreBind, PreFilter, PreScore, Reserve, Score
from moorage.framework.verdicts import SKIP, PluginError, Rejection, Skip, unresolvable
from moorage.plugins.volume_binding import binding, claims, hints, scoring, waiting
from moorage.plugins.volume_binding.binding import Plan
from moorage.plugins.volume_binding.searching import (
    BIND_CONFLICT,
    BROKEN,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_MISSING,
    Found,
    Search,
)
from moorage.plugins.volume_binding.shelving import SHELVES, Shelves, shelves
from moorage.plugins.volume_binding.waiting import BindingFailedError

REASONS: Final = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    BIND_CONFLICT: "node(s) didn't find available persistent volumes to bind",
    NOT_ENOUGH_SPACE: "node(s) did not have enough free storage",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
"""What the bits of a code stand for, in the order in which they are told."""

TIMED_OUT: Final = "context deadline exceeded"


class State:
    """What one attempt knows of the pod's claims."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.filtered = False
        """Whether nodes were searched: where Filter is disabled there is nothing to score."""
        self.everywhere: Found | None = None
        """What the search over all rows found."""
        self.plan: Plan | None = None
        """What was assumed for the pod's node; None where nothing is left to bind."""


class VolumeBinding(PreFilter, Filter, PreScore, Score, Reserve, PreBind, frozen=True):
    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] = CAPACITY_SHAPE

    depends = Depends.NODE
    carried: ClassVar[Carried] = {SHELVES: Shelves}

    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        found = claims.find(cycle)
        if found is None:
            return SKIP
        if isinstance(found, Rejection):
            return found
        cycle.state["VolumeBinding"] = State(Search(cycle, found))
        return None

    def sign(self, cycle: Cycle) -> Hashable | None:
        """Bound volumes are where they are; anything else may be different next time."""
        search = _state(cycle).search
        if search.claims.delayed or any(bound.plugin for bound in search.bound):
            return None
        return tuple((bound.volume is None, bound.reach) for bound in search.bound)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        state = _state(cycle)
        found = state.search.run(cycle, nodes)
        out[:] = found.codes
        state.filtered = True
        if nodes.count == cycle.table.rows:
            state.everywhere = found

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code & BROKEN:
            raise PluginError("VolumeBinding", "Filter", _state(cycle).search.problem)
        return unresolvable(*(reason for bit, reason in REASONS.items() if code & bit))

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        state: State | None = cycle.state.get("VolumeBinding")
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
        out[:] = scoring.score(found, state.search.candidates, self.shape)

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        state: State | None = cycle.state.get("VolumeBinding")
        if state is None or not state.search.claims.delayed:
            return None
        found = state.search.run(cycle, Nodes.one(cycle.table, cycle.table.row_of[node.name]))
        if found.codes[0]:
            return self.rejection(cycle, pod, int(found.codes[0]))
        wanted = binding.plan(found, state.search.candidates)
        state.plan = binding.assume(cycle.cache.objects, shelves(cycle), wanted, node.name)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        state: State | None = cycle.state.get("VolumeBinding")
        if state is not None and state.plan is not None:
            binding.restore(shelves(cycle), state.plan)

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        state: State | None = cycle.state.get("VolumeBinding")
        return SKIP if state is None or state.plan is None else None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        state: State | None = cycle.state.get("VolumeBinding")
        if state is None or state.plan is None:
            return None
        if cycle.client is None:
            raise LookupError("there is no API server to bind volumes at")
        await binding.write(cycle, cycle.client, state.plan)
        await self._wait(cycle, pod, node, cycle.client, state.plan)
        return None

    async def _wait(
        self, cycle: Cycle, pod: Pod, node: Node, client: Client, written: Plan
    ) -> None:
        try:
            done = await client.wait_until(
                lambda: waiting.is_done(cycle, pod, node.name, written), self.bind_timeout_seconds
            )
            problem = "" if done else TIMED_OUT
        except BindingFailedError as error:
            problem = str(error)
        if problem:
            raise PluginError("VolumeBinding", "PreBind", f"binding volumes: {problem}")

    def events(self) -> tuple[EventHint, ...]:
        return hints.events()


def _state(cycle: Cycle) -> State:
    found: State = cycle.state["VolumeBinding"]
    return found
