"""The allocator finds what trying every combination of devices, in order, finds first."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.devices.allocator import Allocator
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.inventory import Inventory
from moorage.devices.node_pools import PoolIndex
from moorage.devices.requests import AllocationError
from moorage.testing import node

DRIVER = "gpu.example.com"
CLASS = decode_as({"metadata": {"name": "gpu"}, "spec": {}}, DeviceClass)
COUNTERS = 4
CAPACITY = 4


class Device(NamedTuple):
    consumes: int
    """Of its pool's counters; it gives them back only if it is let go."""
    taint: str
    numa: int | None
    is_shared: bool


class Request(NamedTuple):
    devices: int
    tolerated: str
    is_admin: bool
    capacity: int


class Claim(NamedTuple):
    requests: tuple[Request, ...]
    same_numa: bool


class Slot(NamedTuple):
    """One device that is wanted: by which claim, by which request of it."""

    claim: int
    number: int
    request: Request


DEVICE = st.builds(
    Device,
    st.sampled_from([0, 0, 1, 2, 3]),
    st.sampled_from(["", "", "NoSchedule", "NoExecute", "None"]),
    st.sampled_from([None, 0, 0, 1, 1]),
    st.sampled_from([False, False, True]),
)
REQUEST = st.builds(
    Request,
    st.integers(1, 2),
    st.sampled_from(["", "", "NoSchedule", "NoExecute", "any"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([0, 0, 1, 3]),
)
CLAIM = st.builds(Claim, st.lists(REQUEST, min_size=1, max_size=2).map(tuple), st.booleans())


def slots(claims: Sequence[Claim]) -> list[Slot]:
    return [
        Slot(which, number, request)
        for which, claim in enumerate(claims)
        for number, request in enumerate(claim.requests)
        for _ in range(request.devices)
    ]


def first_of_all(
    devices: Sequence[Device], claims: Sequence[Claim], held: frozenset[int]
) -> list[int] | None:
    """The first choice of a device for every slot, in their order, that breaks no rule."""
    wanted = slots(claims)
    choices = itertools.product(range(len(devices)), repeat=len(wanted))
    return next(
        (list(each) for each in choices if obeys(devices, claims, held, wanted, each)), None
    )


def obeys(
    devices: Sequence[Device],
    claims: Sequence[Claim],
    held: frozenset[int],
    wanted: Sequence[Slot],
    chosen: Sequence[int],
) -> bool:
    pairs = list(zip(wanted, chosen, strict=True))
    return not any(broken(devices, claims, held, pairs))


def broken(
    devices: Sequence[Device],
    claims: Sequence[Claim],
    held: frozenset[int],
    pairs: Sequence[tuple[Slot, int]],
) -> Iterator[bool]:
    """Each rule; whether it is broken."""
    drawn = sum(devices[each].consumes for each in held)
    capacity: Counter[int] = Counter()
    for index, (slot, number) in enumerate(pairs):
        device, before = devices[number], pairs[:index]
        same_request = [n for other, n in before if other[:2] == slot[:2]]
        yield bool(same_request) and number <= same_request[-1]
        yield refused_by_taint(device.taint, slot.request.tolerated)
        yield bool(slot.request.capacity) and not device.is_shared
        if device.is_shared:
            drawn += 0 if capacity[number] else device.consumes
            capacity[number] += slot.request.capacity or CAPACITY
            yield capacity[number] > CAPACITY
        else:
            users = [other for other, n in before if n == number]
            yield number in held and not slot.request.is_admin
            yield any(not slot.request.is_admin or other.claim == slot.claim for other in users)
            drawn += device.consumes
    yield drawn > COUNTERS
    for which, claim in enumerate(claims):
        if claim.same_numa:
            places = {devices[n].numa for slot, n in pairs if slot.claim == which}
            yield len(places) > 1 or None in places


def refused_by_taint(taint: str, tolerated: str) -> bool:
    return taint in ("NoSchedule", "NoExecute") and tolerated not in (taint, "any")


def found_by_search(
    devices: Sequence[Device], claims: Sequence[Claim], held: frozenset[int]
) -> list[int] | None:
    inventory = Inventory()
    for each in slices(devices):
        inventory.put_slice(each)
    tracker = ClaimTracker(inventory)
    for number in held:
        tracker.put(written(f"held{number}", Claim((), False), [f"d{number}"]))
    where = node("a").build()
    pools = PoolIndex(inventory).of(where)
    search = Allocator(where, pools, tracker.ledger, lambda name: CLASS)
    found = search.allocate([written(f"c{n}", claim) for n, claim in enumerate(claims)])
    if found is None:
        return None
    return [int(pick.device.id.device[1:]) for each in found for pick in each.picks]


def slices(devices: Sequence[Device]) -> list[ResourceSlice]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": "a"}
    counters = {"name": "set", "counters": {"memory": {"value": str(COUNTERS)}}}
    offered = [offer(f"d{number}", device) for number, device in enumerate(devices)]
    contents: list[dict[str, Any]] = [{"devices": offered}, {"sharedCounters": [counters]}]
    return [
        decode_as({"metadata": {"name": f"s{number}"}, "spec": spec | each}, ResourceSlice)
        for number, each in enumerate(contents)
    ]


def offer(name: str, device: Device) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name}
    if device.consumes:
        amount = {"memory": {"value": str(device.consumes)}}
        made["consumesCounters"] = [{"counterSet": "set", "counters": amount}]
    if device.taint:
        made["taints"] = [{"key": "broken", "value": "yes", "effect": device.taint}]
    if device.numa is not None:
        made["attributes"] = {"numa": {"int": device.numa}}
    if device.is_shared:
        made["allowMultipleAllocations"] = True
        made["capacity"] = {"memory": {"value": str(CAPACITY)}}
    return made


def written(name: str, claim: Claim, held: Sequence[str] = ()) -> ResourceClaim:
    devices: dict[str, Any] = {
        "requests": [
            {"name": f"r{n}", "exactly": exact(each)} for n, each in enumerate(claim.requests)
        ]
    }
    if claim.same_numa:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/numa"}]
    results = [{"request": "r", "driver": DRIVER, "pool": "p", "device": each} for each in held]
    status = {"allocation": {"devices": {"results": results}}} if held else {}
    metadata = {"name": name, "namespace": "default", "uid": name}
    raw = {"metadata": metadata, "spec": {"devices": devices}, "status": status}
    return decode_as(raw, ResourceClaim)


def exact(request: Request) -> dict[str, Any]:
    made: dict[str, Any] = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    made["count"] = request.devices
    if request.tolerated:
        effect = {} if request.tolerated == "any" else {"effect": request.tolerated}
        made["tolerations"] = [{"key": "broken", "operator": "Exists", **effect}]
    if request.is_admin:
        made["adminAccess"] = True
    if request.capacity:
        made["capacity"] = {"requests": {"memory": str(request.capacity)}}
    return made


@given(
    st.lists(DEVICE, min_size=1, max_size=5),
    st.lists(CLAIM, min_size=1, max_size=2).filter(lambda claims: len(slots(claims)) <= 4),
    st.data(),
)
def test_the_first_devices_that_break_no_rule_are_found(
    devices: list[Device], claims: list[Claim], data: st.DataObject
) -> None:
    whole = [number for number, device in enumerate(devices) if not device.is_shared]
    held = data.draw(st.sets(st.sampled_from(whole), max_size=2) if whole else st.just(set()))
    want = first_of_all(devices, claims, frozenset(held))

    event("none" if want is None else "found")
    assert found_by_search(devices, claims, frozenset(held)) == want


PLAIN = Device(0, "", None, False)
ONE = Request(1, "", False, 0)


@pytest.mark.parametrize(
    ("devices", "claims", "held", "want"),
    [
        pytest.param(
            [PLAIN._replace(consumes=3, numa=0), *2 * [PLAIN._replace(consumes=2, numa=1)]],
            [Claim((ONE._replace(devices=2),), True)],
            frozenset(),
            [1, 2],
            id="counters of a device that the search puts back are there again",
        ),
        pytest.param(
            [PLAIN._replace(taint="NoExecute"), PLAIN],
            [Claim((ONE,), False)],
            frozenset(),
            [1],
            id="a device with a NoExecute taint is not given out",
        ),
        pytest.param(
            [PLAIN],
            [Claim((ONE._replace(is_admin=True),), False), Claim((ONE,), False)],
            frozenset(),
            None,
            id="nobody shares a device with an administrator of the same search",
        ),
        pytest.param(
            [PLAIN],
            [Claim((ONE._replace(is_admin=True),), False)],
            frozenset({0}),
            [0],
            id="an administrator reaches a device in use",
        ),
        pytest.param(
            [PLAIN],
            [Claim(2 * (ONE._replace(is_admin=True),), False)],
            frozenset(),
            None,
            id="an administrator gets a device once per claim",
        ),
        pytest.param(
            [PLAIN._replace(is_shared=True)],
            [Claim(2 * (ONE._replace(capacity=3),), False)],
            frozenset(),
            None,
            id="shares of one search add up",
        ),
        pytest.param(
            [
                PLAIN._replace(is_shared=True, numa=0),
                PLAIN._replace(is_shared=True, numa=1),
                PLAIN._replace(numa=1),
            ],
            [
                Claim((ONE._replace(capacity=3), ONE), True),
                Claim((ONE._replace(capacity=3),), False),
            ],
            frozenset(),
            [1, 2, 0],
            id="a share that the search gives back is there for the next claim",
        ),
        pytest.param(
            [
                PLAIN._replace(is_shared=True, numa=0),
                PLAIN._replace(is_shared=True, numa=1),
                PLAIN._replace(numa=1),
            ],
            [
                Claim((ONE._replace(capacity=1),), False),
                Claim((ONE._replace(capacity=2), ONE), True),
                Claim((ONE._replace(capacity=3),), False),
            ],
            frozenset(),
            [0, 1, 2, 0],
            id="a share that is given back leaves the other shares of its device",
        ),
        pytest.param(
            [
                PLAIN._replace(is_shared=True, numa=0, consumes=3),
                PLAIN._replace(is_shared=True, numa=1),
                PLAIN._replace(numa=1, consumes=2),
            ],
            [
                Claim((ONE._replace(capacity=1), ONE), True),
                Claim((ONE._replace(capacity=3),), False),
            ],
            frozenset(),
            [1, 2, 1],
            id="a device whose only share was given back draws on counters anew",
        ),
        pytest.param(
            [PLAIN._replace(is_shared=True, consumes=3)],
            2 * [Claim((ONE._replace(capacity=1),), False)],
            frozenset(),
            [0, 0],
            id="a shared device draws on counters once",
        ),
    ],
)
def test_what_a_search_takes_and_gives_back(
    devices: list[Device], claims: list[Claim], held: frozenset[int], want: list[int] | None
) -> None:
    assert first_of_all(devices, claims, held) == want
    assert found_by_search(devices, claims, held) == want


@pytest.mark.parametrize(("count", "is_found"), [(32, True), (33, False)])
def test_a_claim_gets_32_devices_and_no_more(count: int, is_found: bool) -> None:
    halves = (ONE._replace(devices=count // 2), ONE._replace(devices=count - count // 2))
    devices = 40 * [PLAIN]

    if is_found:
        found = found_by_search(devices, [Claim(halves, False)], frozenset())
        assert found == list(range(count))
    else:
        with pytest.raises(AllocationError, match="exceeds the claim limit of 32"):
            found_by_search(devices, [Claim(halves, False)], frozenset())
