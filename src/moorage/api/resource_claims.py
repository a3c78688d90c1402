"""Devices that pods request and are allocated: ResourceClaims and ResourceClaimTemplates."""

import datetime
from typing import Any

import msgspec

from moorage.api.affinity import NodeSelector
from moorage.api.meta import ApiStruct, KubeObject, ObjectMeta, ResourceList
from moorage.api.resource_slices import DeviceSelector, OpaqueDeviceConfiguration

EXACT_COUNT = "ExactCount"
ALL = "All"


class DeviceToleration(ApiStruct):
    """A taint of a device that a request tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(ApiStruct):
    """How much of a device's capacities is requested."""

    requests: ResourceList = msgspec.field(default_factory=dict)


class DeviceSubRequest(ApiStruct):
    """Some devices of a class; in a list of alternatives, one of them."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[dict[str, Any], ...] = ()


class ExactDeviceRequest(DeviceSubRequest):
    """Some devices of a class, possibly only with admin access."""

    admin_access: bool | None = None


class DeviceRequest(ExactDeviceRequest):
    """One request of a claim: `exactly` this, or the first available of several.

    v1beta1 has the fields of v1's `exactly` at this level.
    """

    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()

    @property
    def exact(self) -> ExactDeviceRequest | None:
        """The request, if it has no alternatives; otherwise None."""
        if self.exactly is not None:
            return self.exactly
        return self if self.device_class_name and not self.first_available else None


class DeviceConstraint(ApiStruct):
    """What the devices of some requests must have in common, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(ApiStruct):
    """Parameters of a claim for the drivers of some requests' devices."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(ApiStruct):
    """The requests of a claim, and the constraints between them."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(ApiStruct):
    """What a claim requests."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(ApiStruct):
    """A device, and the request it was allocated for."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: ResourceList = msgspec.field(default_factory=dict)


class DeviceAllocationConfiguration(ApiStruct):
    """Parameters for drivers, and whether the class or the claim gave them."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(ApiStruct):
    """The devices of an allocation."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(ApiStruct):
    """The allocated devices of a claim, and the nodes that can reach them."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: datetime.datetime | None = None


class ResourceClaimConsumerReference(ApiStruct):
    """A user of a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(ApiStruct):
    """One condition that a driver reports of an allocated device."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(ApiStruct):
    """What a driver reports about a device that it prepares."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(ApiStruct):
    """The allocation of a claim, and its users."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ClaimMeta(ObjectMeta):
    """Metadata with finalizers; a claim has one while it is allocated."""

    finalizers: tuple[str, ...] = ()


class ResourceClaim(KubeObject):
    """A request for devices, and its allocation."""

    metadata: ClaimMeta = ClaimMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(ApiStruct):
    """The claim that is created for each pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject):
    """A template of the claims for the pods that name it."""

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
