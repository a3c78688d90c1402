"""Why a claim is not met, device by device: which selector, taint or constraint prevents it.

The devices of the whole cluster are counted, not those of one node. Of the checks of a device
(class, selectors, free, taints, capacity) the first that fails counts. The device that passes most
checks is the nearest. Who asks has no more of a budget for this than an attempt has.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from moorage.api.resource_claims import ALL, DeviceRequest, DeviceSubRequest, ResourceClaim
from moorage.devices import capacity, selection
from moorage.devices.allocator import taint_prevents
from moorage.devices.capacity import NOTHING, CapacityError
from moorage.devices.device_cache import DeviceCache
from moorage.devices.inventory import PoolDevice
from moorage.devices.requests import Wanted
from moorage.devices.work_budget import STEP_UNITS, OverBudgetError, WorkBudget

MOST_EXPRESSION: Final = 80

Step = tuple[int, str]
"""(number of checks that a device passes, which check fails; empty if none does)."""


def unmet_claim(devices: DeviceCache, claim: ResourceClaim, budget: WorkBudget) -> Iterator[str]:
    """One line for each unmet request, or alternative; one for constraints if only they fail."""
    try:
        yield from _unmet_claim(devices, claim, budget)
    except OverBudgetError:
        yield f"has selectors that take too long to say more (claim {claim.name})"


def _unmet_claim(devices: DeviceCache, claim: ResourceClaim, budget: WorkBudget) -> Iterator[str]:
    enough = True
    for request in claim.spec.devices.requests:
        asked = _alternatives(request)
        lines = [_unmet_request(devices, claim, request, each, budget) for each in asked]
        enough = enough and any(line is None for line in lines)
        yield from (line for line in lines if line is not None)
    if enough:
        wanted = _constraints(claim)
        also = f" with {wanted}" if wanted else ""
        yield (
            f"asks for devices that no node has together (claim {claim.name}): each request is "
            f"met by itself, all of them{also} nowhere"
        )


def _alternatives(request: DeviceRequest) -> list[DeviceSubRequest]:
    exact = request.exact
    return list(request.first_available) if exact is None else [exact]


def _unmet_request(
    devices: DeviceCache,
    claim: ResourceClaim,
    request: DeviceRequest,
    asked: DeviceSubRequest,
    budget: WorkBudget,
) -> str | None:
    """Why too few devices meet a request; None if enough do."""
    parent = request.name if request.first_available else ""
    name = f"{parent}/{asked.name}" if parent else request.name
    number = "all" if asked.allocation_mode == ALL else asked.count
    where = f"asks {number} device(s) for request {name} of claim {claim.name}"
    cls = devices.classes.get(asked.device_class_name)
    if cls is None:
        return f"{where}; there is no device class {asked.device_class_name}"
    wanted = Wanted(asked, asked.name or request.name, parent, cls)
    every = [device for entry in devices.inventory.slices() for device in entry.devices]
    steps = [(_step(devices, wanted, device, budget), device) for device in every]
    if sum(not step[1] for step, _ in steps) >= max(wanted.count, 1):
        return None
    if not every:
        return f"{where}; no driver offers any"
    counts = Counter(step[1] or "would do" for step, _ in steps)
    told = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
    refused = [(passed, device) for (passed, failed), device in steps if failed]
    nearest = max(refused, key=lambda pair: pair[0], default=None)
    also = "" if nearest is None else f"; nearest is {nearest[1].id}"
    return f"{where}; of {len(every)} in the cluster {told}{also}"


def _step(devices: DeviceCache, wanted: Wanted, device: PoolDevice, budget: WorkBudget) -> Step:
    budget.spend(STEP_UNITS)
    if selection.first_failing(wanted.class_selectors, device, budget) is not None:
        return 0, f"not of class {wanted.cls.name}"
    failing = selection.first_failing(wanted.selectors, device, budget)
    if failing is not None:
        return 1 + failing, f"fail selector #{failing} ({_short(wanted.selectors[failing])})"
    passed = 1 + len(wanted.selectors)
    ledger = devices.claims.ledger
    if device.id in ledger.dedicated and not wanted.admin_access:
        return passed, "in use"
    if taint_prevents(device.taints, wanted.tolerations):
        return passed + 1, "tainted"
    try:
        taken = ledger.capacity.get(device.id, NOTHING)
        if capacity.fits(device, wanted.capacity, taken, NOTHING):
            return passed + 3, ""
    except CapacityError as error:
        return passed + 2, f"refuse the capacity ({error})"
    return passed + 2, "lack capacity"


def _constraints(claim: ResourceClaim) -> str:
    return " and ".join(
        f"matchAttribute {each.match_attribute}"
        if each.match_attribute is not None
        else f"distinctAttribute {each.distinct_attribute}"
        for each in claim.spec.devices.constraints
    )


def _short(expression: str) -> str:
    cut = expression[: MOST_EXPRESSION - 3] + "..."
    return expression if len(expression) <= MOST_EXPRESSION else cut
