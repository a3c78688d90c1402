"""The DynamicResources plugin: its extension points."""

from collections.abc import Hashable, Iterable
from functools import cached_property, lru_cache
from typing import ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.node_selectors import compile_node_selector
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.api.resource_claims import AllocationResult, DeviceRequest, ResourceClaim
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.config.durations import Duration
from moorage.devices.allocation import allocation_result
from moorage.devices.allocator import INVALID_POOLS
from moorage.devices.claim_tracker import SHARED_IN_GROUP
from moorage.devices.device_cache import DeviceCache, backing_class, device_cache
from moorage.devices.feature_gates import Features, features_of
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.events import EventHint
from moorage.framework.plugin import Needs
from moorage.framework.points import (
    Filter,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    Reserve,
    Score,
)
from moorage.framework.score_range import normalize_by_maximum
from moorage.framework.verdicts import (
    SKIP,
    PluginError,
    Rejection,
    Skip,
    unresolvable,
    unschedulable,
)
from moorage.plugins.dynamic_resources import (
    binding_conditions,
    claim_columns,
    claim_writer,
    group_claims,
    queueing_hints,
)
from moorage.plugins.dynamic_resources.binding_conditions import (
    BINDING_TIMEOUT,
    DeviceBindingError,
)
from moorage.plugins.dynamic_resources.claim_columns import (
    BROKEN,
    CANNOT_ALLOCATE,
    CANNOT_FIT,
    STALE_EXTENDED,
    TIMED_OUT,
    UNAVAILABLE,
    column_of,
)
from moorage.plugins.dynamic_resources.claim_state import ClaimState
from moorage.plugins.dynamic_resources.extended_resources import (
    IN_MEMORY_NAME,
    backed_resources,
    in_memory_claim,
    with_requests,
)
from moorage.plugins.dynamic_resources.node_questions import NodeQuestions
from moorage.plugins.dynamic_resources.pod_claims import (
    ClaimsError,
    is_reserved_for,
    named_claims,
    pod_claims,
)

NAME: Final = "DynamicResources"

REASONS: Final = {
    CANNOT_ALLOCATE: "cannot allocate all claims",
    UNAVAILABLE: "resourceclaim not available on the node",
    claim_columns.INVALID_POOLS: INVALID_POOLS,
    STALE_EXTENDED: "cannot schedule extended resource claim",
    CANNOT_FIT: "cannot fit resource",
}

NOT_LISTED: Final = "claims and devices are not known yet"

_encode = msgspec.json.Encoder().encode


class DynamicResources(
    PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind, frozen=True
):
    filter_timeout: str = "10s"
    binding_timeout: str = "10m0s"
    feature_gates: dict[str, bool] | None = None

    depends = Depends.EVERYTHING
    needs: ClassVar[Needs] = {"filter": "preFilter", "score": "preFilter"}
    scores_in_range = True
    broken_code = BROKEN
    allow_parallel = True

    @cached_property
    def features(self) -> Features:
        """The features switched on or off by `feature_gates`."""
        return features_of(self.feature_gates or {})

    def concerns(self) -> int:
        return Feature.CLAIMS | Feature.EXTENDED

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        if not pod.spec.resource_claims:
            return None
        devices = device_cache(self.handle.cache)
        if devices.unlisted:
            return unresolvable(NOT_LISTED)
        try:
            pod_claims(pod, devices.claims, self.features.workload_claims)
        except ClaimsError as error:
            return unresolvable(str(error))
        return None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        extended = self._extended_claim(cycle, pod)
        if extended is None and not pod.spec.resource_claims:
            return SKIP
        devices = device_cache(cycle.cache)
        if devices.unlisted:
            return unresolvable(NOT_LISTED)
        try:
            named = list(named_claims(pod, devices.claims, self.features.workload_claims))
            group = self._group_of(cycle, pod)
        except ClaimsError as error:
            return unresolvable(str(error))
        claims = [claim for _, claim in named]
        claims = claims if extended is None else [*claims, extended]
        if not claims:
            return SKIP
        state = ClaimState(claims, extended)
        if group is not None:
            state.consumers = [group_claims.consumer_of(pod, group, entry) for entry, _ in named]
        for position, claim in enumerate(claims):
            refused = self._look_at(cycle, devices, state, position, claim)
            if refused is not None:
                return refused
        if state.to_allocate:
            state.column = column_of(devices, _column_key(cycle, state), self.features)
        cycle.state[NAME] = state
        return None

    def _group_of(self, cycle: Cycle, pod: Pod) -> PodGroup | None:
        """The pod's group, if groups may have claims; ClaimsError if the group does not exist."""
        name = group_claims.group_name(pod) if self.features.workload_claims else None
        if name is None or not pod.spec.resource_claims:
            return None
        group = group_claims.group_of(cycle.cache, pod)
        if group is None:
            raise ClaimsError(f'podgroup.scheduling.k8s.io "{name}" not found')
        return group

    def _extended_claim(self, cycle: Cycle, pod: Pod) -> ResourceClaim | None:
        requests = cycle.incoming.cls.asked_requests
        if not backed_resources(requests, lambda name: backing_class(cycle.cache, name)):
            return None
        found = device_cache(cycle.cache).claims.extended_claim_of(pod.uid)
        return in_memory_claim(pod) if found is None else found

    def _look_at(
        self,
        cycle: Cycle,
        devices: DeviceCache,
        state: ClaimState,
        position: int,
        claim: ResourceClaim,
    ) -> Rejection | None:
        allocation = claim.status.allocation
        if allocation is not None:
            self._note_allocated(cycle, state, position, claim, allocation)
            return None
        pending = devices.claims.pending_allocation(claim.uid)
        if pending is not None:
            if claim.uid in cycle.state.get(SHARED_IN_GROUP, ()):
                state.sharing[position] = pending
                self._note_allocated(cycle, state, position, claim, pending)
                return None
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        if claim is state.extended:
            return None
        for request in claim.spec.devices.requests:
            refused = _check_classes(devices, claim, request)
            if refused is not None:
                return refused
        return None

    def _note_allocated(
        self,
        cycle: Cycle,
        state: ClaimState,
        position: int,
        claim: ResourceClaim,
        allocation: AllocationResult,
    ) -> None:
        if allocation.node_selector is not None:
            terms, error = compile_node_selector(allocation.node_selector)
            if error is not None:
                raise PluginError(NAME, "PreFilter", str(error))
            state.terms[position] = terms
        timeout = _seconds(self.binding_timeout)
        if binding_conditions.will_not_be_ready(claim, cycle.now, timeout):
            state.unusable.add(position)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        state = _state(cycle)
        for position in range(len(state.claims)):
            away = _unavailable(state, position, nodes)
            if away is not None:
                out[away] = UNAVAILABLE
        if state.column is not None:
            self._catch_up(cycle, pod, state)
            codes = state.column.codes[nodes.rows]
            np.copyto(out, codes, where=codes != 0)

    def _catch_up(self, cycle: Cycle, pod: Pod, state: ClaimState) -> None:
        if state.column is not None:
            questions = NodeQuestions(cycle, pod, state)
            seconds = _seconds(self.filter_timeout)
            state.column.catch_up(cycle.table, questions.of, seconds, cycle.budget)

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        """Devices stay allocated when a pod is evicted, until its claim is given up."""
        return True

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code in (BROKEN, TIMED_OUT):
            raise PluginError(NAME, "Filter", _problem(_state(cycle), code))
        return unresolvable(REASONS[code])

    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> Rejection:
        state: ClaimState | None = cycle.state.get(NAME)
        if state is None:
            return unschedulable()
        in_the_way = _in_the_way(cycle, state, diagnosis)
        for position in in_the_way:
            claim = state.claims[position]
            if claim is state.extended:
                break
            users = claim.status.reserved_for
            if not users or (len(users) == 1 and is_reserved_for(claim, pod)):
                claim_writer.deallocate_later(cycle, claim)
                return unschedulable("deallocation of ResourceClaim completed")
        if state.extended is not None and state.extended.name != IN_MEMORY_NAME:
            claim_writer.delete_later(cycle, state.extended)
            return unschedulable("deletion of ResourceClaim completed")
        return self._give_up_group_claim(cycle, pod, state, in_the_way)

    def pod_group_post_filter(
        self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis
    ) -> Rejection | None:
        said = self.post_filter(cycle, pod, diagnosis)
        return said if said.reasons else None

    def _give_up_group_claim(
        self, cycle: Cycle, pod: Pod, state: ClaimState, in_the_way: list[int]
    ) -> Rejection:
        """Deallocate a claim in the way that only the pod's group uses, if none of it is placed."""
        name = group_claims.group_name(pod) if self.features.workload_claims else None
        if name is None:
            return unschedulable()
        for position in in_the_way:
            users = state.claims[position].status.reserved_for
            if len(users) != 1 or not group_claims.is_group(users[0], name):
                continue
            if group_claims.is_placed(cycle.cache, pod):
                break
            claim_writer.deallocate_later(cycle, state.claims[position])
            return unschedulable("deallocation of PodGroup ResourceClaim completed")
        return unschedulable()

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        state: ClaimState | None = cycle.state.get(NAME)
        if state is not None and state.column is not None:
            self._catch_up(cycle, pod, state)
            out[:] = state.column.scores[nodes.rows] + _allocated_score(state.claims)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        normalize_by_maximum(scores)

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        state: ClaimState | None = cycle.state.get(NAME)
        if state is None:
            return None
        self._share(cycle, state)
        if state.column is None:
            return None
        self._catch_up(cycle, pod, state)
        questions = NodeQuestions(cycle, pod, state)
        table, seconds = cycle.table, _seconds(self.filter_timeout)
        row = table.row_of[node.name]
        answer = state.column.settle(table, row, questions.of, seconds, cycle.budget)
        if answer is None or answer.code or not answer.claims or answer.found is None:
            if any(state.claims[position] is not state.extended for position in state.to_allocate):
                raise PluginError(NAME, "Reserve", "claim allocation not found for node")
            return None
        tracker = device_cache(cycle.cache).claims
        positions = state.to_allocate
        for position, asked, found in zip(positions, answer.claims, answer.found, strict=True):
            claim = state.claims[position]
            if claim is state.extended:
                claim = with_requests(claim, asked.spec.devices.requests)
            allocation = allocation_result(
                claim, found, node.name, lambda: claim_writer.new_uid(cycle.random_of(NAME))
            )
            state.allocations[position] = allocation
            state.booked[position] = claim
            tracker.begin_allocation(claim, allocation)
            if claim is not state.extended and SHARED_IN_GROUP in cycle.state:
                cycle.state[SHARED_IN_GROUP].add(claim.uid)
        state.mappings = answer.mappings
        return None

    def _share(self, cycle: Cycle, state: ClaimState) -> None:
        """Use the allocations that another pod of the group has booked."""
        tracker = device_cache(cycle.cache).claims
        for position, allocation in state.sharing.items():
            state.allocations[position] = allocation
            state.booked[position] = state.claims[position]
            tracker.share_allocation(state.claims[position].uid)

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        state: ClaimState | None = cycle.state.get(NAME)
        if state is not None:
            claim_writer.take_back(cycle, pod, state)

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        return SKIP if cycle.state.get(NAME) is None else None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        state: ClaimState | None = cycle.state.get(NAME)
        if state is None:
            return None
        by_group = self.features.workload_claims
        await claim_writer.write_claims(cycle, pod, state, self.handle.now(), by_group)
        if any(binding_conditions.has_conditions(claim) for claim in state.claims):
            await self._wait_for_devices(cycle, pod, node, state)
        return None

    async def _wait_for_devices(
        self, cycle: Cycle, pod: Pod, node: Node, state: ClaimState
    ) -> None:
        """Wait until drivers say that all devices are ready for the node."""
        note = f"waiting for binding conditions for device on node {node.name}"
        self.handle.record(pod, "BindingConditionsPending", note, action="Scheduling")
        timeout = _seconds(self.binding_timeout)
        tracker = device_cache(cycle.cache).claims
        if cycle.client is None:
            raise LookupError("there is no API server to hear of devices from")

        def check() -> bool:
            return binding_conditions.are_ready(tracker, state.claims, self.handle.now(), timeout)

        try:
            if not await cycle.client.wait_until(check, timeout):
                raise DeviceBindingError(f"{BINDING_TIMEOUT}: context deadline exceeded")
        except DeviceBindingError as error:
            raise PluginError(NAME, "PreBind", str(error)) from None

    def events(self) -> tuple[EventHint, ...]:
        by_group = self.features.workload_claims
        return queueing_hints.event_hints(lambda: device_cache(self.handle.cache).claims, by_group)


@lru_cache(maxsize=64)
def _seconds(text: str) -> float:
    return Duration.parse(text).seconds


def _state(cycle: Cycle) -> ClaimState:
    found: ClaimState = cycle.state[NAME]
    return found


def _unavailable(state: ClaimState, position: int, nodes: Nodes) -> NDArray[np.bool_] | None:
    """bool (node): the node cannot use an allocated claim; None if every node can."""
    if position in state.unusable:
        return np.ones(nodes.count, dtype=bool)
    terms = state.terms.get(position)
    return None if terms is None else ~selector_masks.any_term(terms, nodes)


def _in_the_way(cycle: Cycle, state: ClaimState, diagnosis: Diagnosis) -> list[int]:
    """Positions of allocated claims without which some node might have passed.

    Only rows count that this plugin refused because such a claim is not available there.
    """
    rows = diagnosis.rows_refused_for(NAME, REASONS[UNAVAILABLE])
    if not len(rows):
        return []
    nodes = Nodes.some(cycle.table, rows.tolist())
    away = (
        (position, _unavailable(state, position, nodes)) for position in range(len(state.claims))
    )
    return [position for position, mask in away if mask is not None and mask.any()]


def _problem(state: ClaimState, code: int) -> str:
    answers = state.column.answers if state.column is not None else ()
    return next(each.problem for each in answers if each is not None and each.code == code)


def _column_key(cycle: Cycle, state: ClaimState) -> Hashable:
    """What the answers depend on besides the cluster."""
    specs = tuple(_encode(state.claims[i].spec) for i in state.to_allocate)
    if state.extended is None:
        return specs
    if state.extended.spec.devices.requests:
        return STALE_EXTENDED
    return specs, cycle.incoming.cls.like_spec, bool(state.user_claims)


def _check_classes(
    devices: DeviceCache, claim: ResourceClaim, request: DeviceRequest
) -> Rejection | None:
    if request.exact is None and not request.first_available:
        return unresolvable(
            f"resource claim {claim.key}, request {request.name}: unknown request type"
        )
    names: Iterable[tuple[str, str]] = (
        [(request.name, request.exact.device_class_name)]
        if request.exact is not None
        else [
            (f"{request.name}/{each.name}", each.device_class_name)
            for each in request.first_available
        ]
    )
    for name, cls in names:
        if not cls:
            raise PluginError(NAME, "PreFilter", f"request {name}: unsupported request type")
        if devices.classes.get(cls) is None:
            return unresolvable(f"request {name}: device class {cls} does not exist")
    return None


def _allocated_score(claims: list[ResourceClaim]) -> int:
    """The score that claims allocated before add on every node."""
    total = 0
    for claim in claims:
        allocation = claim.status.allocation
        if allocation is None:
            continue
        taken = {result.request for result in allocation.devices.results}
        for request in claim.spec.devices.requests:
            for position, each in enumerate(request.first_available):
                if f"{request.name}/{each.name}" in taken:
                    total += claim_columns.MOST_ALTERNATIVES - position
    return total
