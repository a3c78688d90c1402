"""The search: the first devices, in kube's order, that meet all requests of all claims.

1. Claims, their requests and the devices of a request are taken one after the other.
2. For each device wanted, the candidates are tried in order: not in use, selected, with enough
   capacity and counters left, without a taint that is not tolerated, meeting the constraints.
3. A candidate that passes is taken, and the next device is searched; within one request only
   behind it. If the rest of the search fails, the candidate is put back and the next one is tried.
4. Of alternatives the first with which the search succeeds is taken.

Each candidate that is looked at, and each call, is paid for; OverBudgetError ends the search.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from moorage.api.node import Node
from moorage.api.quantity import Quantity
from moorage.api.resource_claims import DeviceToleration, ResourceClaim
from moorage.api.resource_slices import DeviceClass, DeviceTaint
from moorage.devices import capacity
from moorage.devices.capacity import NOTHING, CapacityError, nano_of
from moorage.devices.compatibility_groups import CompatibilityGroups
from moorage.devices.constraints import Constraint, make_constraint
from moorage.devices.feature_gates import DEFAULT, Features
from moorage.devices.inventory import DeviceID, PoolDevice, PoolID
from moorage.devices.ledger import Ledger
from moorage.devices.node_pools import Candidate, NodePools, Pool, device_is_reached
from moorage.devices.requests import (
    MOST_DEVICES,
    AllocationError,
    RequestReader,
    Wanted,
    is_selected,
)
from moorage.devices.work_budget import STEP_UNITS, UNLIMITED, WorkBudget

GLANCE_UNITS: Final = 1
"""What the search pays for passing over a candidate that is not selected, or in use."""

INVALID_POOLS = "invalid resource pools were encountered"

Undo = Callable[[], None]

NOT_SELECTED: Final = 1
SELECTED: Final = 2
FREE_OF_ERRORS: Final = 3
"""Selected, and its capacity cannot raise an error: constraints may be checked first."""


class InvalidPoolsError(Exception):
    """Nothing was found on this node, and some of its pools are invalid."""


class _TooManyDevicesError(Exception):
    """The present branch of the search needs more devices than an allocation may hold."""


class Pick(NamedTuple):
    """A device that was found for a request."""

    wanted: Wanted
    device: PoolDevice
    consumed: dict[str, Quantity] | None
    """What it consumes of a shared device; None if it takes the whole device."""


class Found(NamedTuple):
    """What one claim gets: its devices, and the chosen alternative of each request."""

    picks: list[Pick]
    chosen: list[Wanted]


class Allocator:
    """Finds devices for claims on one node, given what is taken now."""

    def __init__(
        self,
        node: Node,
        pools: NodePools,
        ledger: Ledger,
        class_of: Callable[[str], DeviceClass | None],
        budget: WorkBudget = UNLIMITED,
        features: Features = DEFAULT,
    ) -> None:
        self._node = node
        self._pools = pools
        self._ledger = ledger
        self._class_of = class_of
        self._budget = budget
        self._features = features
        self._groups = CompatibilityGroups(ledger) if features.compatibility_groups else None
        self._claims: Sequence[ResourceClaim] = ()
        self._wanted: list[list[list[Wanted]]] = []
        self._chosen: list[list[int]] = []
        self._constraints: list[list[Constraint]] = []
        self._picks: list[list[Pick]] = []
        self._allocating: dict[DeviceID, set[int]] = {}
        self._capacity: dict[DeviceID, dict[str, int]] = {}
        self._counters: dict[PoolID, dict[tuple[str, str], int]] = {}
        self._available: dict[PoolID, dict[tuple[str, str], int]] = {}

    def allocate(self, claims: Sequence[ResourceClaim]) -> list[Found] | None:
        """What each claim gets; None if the claims cannot all be met."""
        self._claims = claims
        reader = RequestReader(self._class_of, self._pools, self._is_selectable)
        for claim in claims:
            self._wanted.append(reader.read(claim))
            self._chosen.append([0] * len(self._wanted[-1]))
            self._picks.append([])
            self._constraints.append(_constraints(claim, self._features))
        if self._claim(0):
            return [
                Found(picks, [alternatives[i] for alternatives, i in zip(wanted, ids, strict=True)])
                for picks, wanted, ids in zip(self._picks, self._wanted, self._chosen, strict=True)
            ]
        if any(pool.invalid for pool in self._pools.pools):
            raise InvalidPoolsError(INVALID_POOLS)
        return None

    def _claim(self, claim: int) -> bool:
        self._budget.spend(STEP_UNITS)
        if claim >= len(self._claims):
            return True
        return self._request(claim, 0)

    def _request(self, claim: int, request: int) -> bool:
        """Find devices for a request, and for all requests after it."""
        self._budget.spend(STEP_UNITS)
        if request >= len(self._wanted[claim]):
            try:
                return self._claim(claim + 1)
            except _TooManyDevicesError:
                return False
        alternatives = self._wanted[claim][request]
        if not alternatives[0].parent:
            return self._device(claim, request, 0, 0, 0)
        exceeded = True
        for choice in range(len(alternatives)):
            try:
                found = self._device(claim, request, choice, 0, 0)
            except _TooManyDevicesError:
                continue
            exceeded = False
            if found:
                self._chosen[claim][request] = choice
                return True
        if exceeded:
            raise _TooManyDevicesError
        return False

    def _device(self, claim: int, request: int, choice: int, number: int, start: int) -> bool:
        """Find the device number `number` of a request, beginning with candidate `start`."""
        self._budget.spend(STEP_UNITS)
        wanted = self._wanted[claim][request][choice]
        if wanted.is_all and not wanted.all_devices:
            return False
        if number >= wanted.count:
            return self._request(claim, request + 1)
        if wanted.count - number > MOST_DEVICES - len(self._picks[claim]):
            raise _TooManyDevicesError
        if wanted.is_all:
            candidate = wanted.all_devices[number]
            undo = self._take(claim, wanted, candidate, must=True)
            return undo is not None and self._go_on(undo, claim, request, choice, number, 0)
        candidates, known = self._pools.candidates, self._pools.looked_at(wanted.asked)
        begun = [each for each in self._constraints[claim] if each.is_begun]
        begun = [each for each in begun if each.applies(wanted.names)]
        self._budget.spend((len(candidates) - start) * GLANCE_UNITS)
        for position in range(start, len(candidates)):
            if known[position] == NOT_SELECTED:
                continue
            if known[position]:
                self._budget.spend(STEP_UNITS)
            candidate = candidates[position]
            if known[position] == FREE_OF_ERRORS and not all(
                constraint.would_add(candidate.device) for constraint in begun
            ):
                continue
            if self._is_taken(claim, wanted, candidate.device):
                continue
            if not known[position]:
                known[position] = self._look_at(claim, wanted, candidate)
                if known[position] == NOT_SELECTED:
                    continue
            if not self._has_capacity(claim, wanted, candidate.device, "checking capacity"):
                continue
            undo = self._take(claim, wanted, candidate, must=False)
            if undo is None:
                continue
            if self._go_on(undo, claim, request, choice, number, position + 1):
                return True
        return False

    def _go_on(
        self, undo: Undo, claim: int, request: int, choice: int, number: int, start: int
    ) -> bool:
        """Continue the search; put the last device back if it fails."""
        found = False
        try:
            found = self._device(claim, request, choice, number + 1, start)
        finally:
            if not found:
                undo()
        return found

    def _look_at(self, claim: int, wanted: Wanted, candidate: Candidate) -> int:
        """Classify a candidate; the result does not depend on what is taken, so it is kept."""
        if not self._is_selectable(wanted, candidate, self._claims[claim].key):
            return NOT_SELECTED
        device = candidate.device
        is_plain = device.plain_capacity and not device.is_shared and not wanted.capacity
        return FREE_OF_ERRORS if is_plain else SELECTED

    def _is_taken(self, claim: int, wanted: Wanted, device: PoolDevice) -> bool:
        by = self._allocating.get(device.id)
        if wanted.admin_access:
            return by is not None and claim in by
        return bool(by) or device.id in self._ledger.dedicated

    def _is_selectable(self, wanted: Wanted, candidate: Candidate, claim: str) -> bool:
        device = candidate.device
        self._budget.spend(STEP_UNITS)
        if not is_selected(wanted, candidate, claim, self._budget):
            return False
        own = device.entry.slice.spec.per_device_node_selection
        return not own or device_is_reached(device, self._node)

    def _has_capacity(self, claim: int, wanted: Wanted, device: PoolDevice, doing: str) -> bool:
        taken = self._ledger.capacity.get(device.id, NOTHING)
        allocating = self._capacity.get(device.id, NOTHING)
        try:
            return capacity.fits(device, wanted.capacity, taken, allocating)
        except CapacityError as error:
            where = f"claim {self._claims[claim].key}, request {wanted.name}"
            raise AllocationError(f"{where}: {doing} for device {device.id}: {error}") from None

    def _take(self, claim: int, wanted: Wanted, candidate: Candidate, must: bool) -> Undo | None:
        """Take a device if it is free and meets the constraints; a function that puts it back."""
        device, pool = candidate
        is_shared = device.is_shared
        if not (wanted.admin_access and is_shared) and self._is_taken(claim, wanted, device):
            return None
        counts = bool(device.consumes) and not (is_shared and self._is_shared_out(device.id))
        regroup: Undo | None = _NOTHING_TO_UNDO
        if counts and self._groups is not None:
            regroup = self._groups.take(device, pool)
        if regroup is None:
            return None
        if counts and not self._has_counters(device, pool):
            regroup()
            return None
        added: list[Constraint] = []

        def put_back() -> None:
            self._put_back(device, pool, counts, added)
            regroup()

        if taint_prevents(device.taints, wanted.tolerations) or not self._add(
            claim, wanted, device, added, must
        ):
            put_back()
            return None
        if not self._has_capacity(claim, wanted, device, "rechecking capacity"):
            put_back()
            return None
        consumed = capacity.consumed_capacity(device, wanted.capacity) if is_shared else None
        unmark = self._mark(claim, device, consumed)
        self._picks[claim].append(Pick(wanted, device, consumed))

        def undo() -> None:
            self._picks[claim].pop()
            unmark()
            put_back()

        return undo

    def _add(
        self, claim: int, wanted: Wanted, device: PoolDevice, added: list[Constraint], must: bool
    ) -> bool:
        for constraint in self._constraints[claim]:
            if not constraint.applies(wanted.names):
                continue
            if constraint.add(device):
                added.append(constraint)
                continue
            if must:
                raise AllocationError(
                    f"claim {self._claims[claim].key}, request {wanted.name}: cannot add device "
                    f"{device.id} because a claim constraint would not be satisfied"
                )
            return False
        return True

    def _mark(self, claim: int, device: PoolDevice, consumed: dict[str, Quantity] | None) -> Undo:
        if consumed is None:
            self._allocating.setdefault(device.id, set()).add(claim)
            return lambda: self._allocating[device.id].discard(claim)
        existed = device.id in self._capacity
        held = self._capacity.setdefault(device.id, {})
        for name, amount in consumed.items():
            held[name] = held.get(name, 0) + nano_of(amount)

        def unmark() -> None:
            for name, amount in consumed.items():
                held[name] -= nano_of(amount)
            if not existed:
                del self._capacity[device.id]

        return unmark

    def _put_back(
        self, device: PoolDevice, pool: Pool, counts: bool, added: list[Constraint]
    ) -> None:
        for constraint in added:
            constraint.remove()
        if counts:
            self._consume(device, pool, -1)

    def _is_shared_out(self, device: DeviceID) -> bool:
        return self._ledger.is_shared_out(device) or device in self._capacity

    def _has_counters(self, device: PoolDevice, pool: Pool) -> bool:
        """Reserve a device's counters, if there are enough of all counters of its pool."""
        self._consume(device, pool, 1)
        consumed = self._counters[pool.id]
        if all(left >= consumed.get(key, 0) for key, left in self._left(pool).items()):
            return True
        self._consume(device, pool, -1)
        return False

    def _consume(self, device: PoolDevice, pool: Pool, sign: int) -> None:
        consumed = self._counters.setdefault(pool.id, {})
        for counter_set, name, amount in device.consumes:
            consumed[counter_set, name] = consumed.get((counter_set, name), 0) + sign * amount

    def _left(self, pool: Pool) -> dict[tuple[str, str], int]:
        """What allocated devices leave of a pool's counters."""
        found = self._available.get(pool.id)
        if found is None:
            found = self._available[pool.id] = {
                (counter_set, name): amount
                for counter_set, counters in pool.counter_sets.items()
                for name, amount in counters.items()
            }
            for entry in (*pool.slices, *pool.others):
                for device in entry.devices:
                    if device.consumes and self._ledger.is_allocated(device.id):
                        for counter_set, name, amount in device.consumes:
                            if (counter_set, name) in found:
                                found[counter_set, name] -= amount
        return found


def _nothing() -> None:
    """Undo nothing."""


_NOTHING_TO_UNDO: Undo = _nothing


def _constraints(claim: ResourceClaim, features: Features) -> list[Constraint]:
    made = []
    for position, given in enumerate(claim.spec.devices.constraints):
        constraint = make_constraint(given, features.list_attributes)
        if constraint is None:
            raise AllocationError(
                f"claim {claim.key}, constraint #{position}: empty constraint "
                "(unsupported constraint type?)"
            )
        made.append(constraint)
    return made


def taint_prevents(
    taints: tuple[DeviceTaint, ...], tolerations: tuple[DeviceToleration, ...]
) -> bool:
    """Whether an untolerated taint keeps a device from being allocated."""
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
    )


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
