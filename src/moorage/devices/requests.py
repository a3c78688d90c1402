"""The requests of claims, checked and ready to be searched for."""

from collections.abc import Callable

from moorage.api.resource_claims import (
    ALL,
    EXACT_COUNT,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from moorage.api.resource_slices import DeviceClass, DeviceSelector
from moorage.devices import capacity, selection
from moorage.devices.capacity import NOTHING, CapacityError
from moorage.devices.node_pools import Candidate, NodePools
from moorage.devices.work_budget import WorkBudget

MOST_DEVICES = 32
"""The most devices in one allocation."""


class AllocationError(Exception):
    """Something is wrong with a claim or a class: the attempt ends here."""


class Wanted:
    """One request, or one alternative of a request."""

    __slots__ = (
        "admin_access",
        "all_devices",
        "asked",
        "capacity",
        "class_selectors",
        "cls",
        "count",
        "is_all",
        "name",
        "names",
        "parent",
        "position",
        "request",
        "selectors",
    )

    def __init__(self, request: DeviceSubRequest, name: str, parent: str, cls: DeviceClass) -> None:
        self.request = request
        self.name = name
        self.parent = parent
        self.position = 0
        """The position among the alternatives of its request."""
        self.names = (parent, f"{parent}/{name}") if parent else (name,)
        self.cls = cls
        self.admin_access = isinstance(request, ExactDeviceRequest) and bool(request.admin_access)
        self.class_selectors = expressions(cls.spec.selectors)
        self.selectors = expressions(request.selectors)
        self.capacity = request.capacity.requests if request.capacity is not None else {}
        self.asked = self.class_selectors, self.selectors, bool(self.capacity)
        """A key: requests with equal ones select the same devices, and raise the same errors."""
        self.is_all = request.allocation_mode == ALL
        self.count = request.count
        self.all_devices: list[Candidate] = []

    @property
    def full_name(self) -> str:
        return self.names[-1]

    @property
    def tolerations(self) -> tuple[DeviceToleration, ...]:
        return self.request.tolerations


Selectable = Callable[[Wanted, Candidate, str], bool]


def expressions(selectors: tuple[DeviceSelector, ...]) -> tuple[str, ...]:
    return tuple(each.cel.expression for each in selectors if each.cel is not None)


class RequestReader:
    """Checks the requests of claims against classes and the pools of one node."""

    def __init__(
        self,
        class_of: Callable[[str], DeviceClass | None],
        pools: NodePools,
        selectable: Selectable,
    ) -> None:
        self._class_of = class_of
        self._pools = pools
        self._selectable = selectable

    def read(self, claim: ResourceClaim) -> list[list[Wanted]]:
        """The alternatives of each request; one, unless it has a list of them."""
        read, least = [], 0
        for request in claim.spec.devices.requests:
            alternatives = self._alternatives(claim, request)
            fewest = min(each.count for each in alternatives)
            if fewest > MOST_DEVICES - least:
                raise AllocationError(
                    f"claim {claim.key}, request {request.name}: adding {fewest} devices exceeds "
                    f"the claim limit of {MOST_DEVICES}, with {least} already accounted for"
                )
            least += fewest
            read.append(alternatives)
        return read

    def _alternatives(self, claim: ResourceClaim, request: DeviceRequest) -> list[Wanted]:
        if request.first_available:
            alternatives = [
                self._wanted(claim, each, each.name, request.name)
                for each in request.first_available
            ]
            for position, each in enumerate(alternatives):
                each.position = position
            return alternatives
        exact = request.exact
        if exact is None:
            raise AllocationError(
                f"claim {claim.key}, request {request.name}: missing device class name "
                "(unsupported request type?)"
            )
        return [self._wanted(claim, exact, request.name, "")]

    def _wanted(
        self, claim: ResourceClaim, request: DeviceSubRequest, name: str, parent: str
    ) -> Wanted:
        where = f"claim {claim.key}, request {name}"
        if request.derived_attributes:
            raise AllocationError(
                f"{where}: cannot handle request with derived attributes, the feature is disabled"
            )
        for position, selector in enumerate(request.selectors):
            if selector.cel is None:
                raise AllocationError(
                    f"{where}, selector #{position}: CEL expression empty "
                    "(unsupported selector type?)"
                )
        cls = self._class_of(request.device_class_name)
        if cls is None:
            missing = f'deviceclass.resource.k8s.io "{request.device_class_name}" not found'
            raise AllocationError(
                f"{where}: could not retrieve device class {request.device_class_name}: {missing}"
            )
        wanted = Wanted(request, name, parent, cls)
        if wanted.is_all:
            self._find_all(where, wanted, claim)
        elif request.allocation_mode != EXACT_COUNT:
            raise AllocationError(f"{where}: unsupported count mode {request.allocation_mode}")
        return wanted

    def _find_all(self, where: str, wanted: Wanted, claim: ResourceClaim) -> None:
        """Count the devices that "all" stands for."""
        for pool in self._pools.pools:
            state = "being updated" if pool.incomplete else "invalid"
            if pool.incomplete or pool.invalid:
                raise AllocationError(
                    f"{where}: asks for all devices, but resource pool {pool.id} is "
                    f"currently {state}"
                )
            for entry in pool.slices:
                for device in entry.devices:
                    candidate = Candidate(device, pool)
                    if self._selectable(wanted, candidate, claim.key) and self._is_big_enough(
                        where, wanted, candidate
                    ):
                        wanted.all_devices.append(candidate)
        wanted.count = len(wanted.all_devices)

    def _is_big_enough(self, where: str, wanted: Wanted, candidate: Candidate) -> bool:
        device = candidate.device
        try:
            return capacity.fits(device, wanted.capacity, NOTHING, NOTHING)
        except CapacityError as error:
            name = device.id.device
            raise AllocationError(
                f"{where}: checking capacity for device {name}: {error}"
            ) from None


def is_selected(wanted: Wanted, candidate: Candidate, claim: str, budget: WorkBudget) -> bool:
    """Whether the selectors of the class and of the request choose a device."""
    owner = f"class {wanted.cls.name}"
    try:
        if not selection.matches(wanted.class_selectors, candidate.device, budget):
            return False
        owner = f"claim {claim}"
        return selection.matches(wanted.selectors, candidate.device, budget)
    except selection.SelectionError as error:
        raise AllocationError(error.told(owner)) from None
