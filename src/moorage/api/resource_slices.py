"""Devices that drivers offer: ResourceSlices, DeviceClasses and DeviceTaintRules."""

from typing import Any

import msgspec

from moorage.api.affinity import NodeSelector
from moorage.api.meta import ApiStruct, KubeObject, QuantityText


class DeviceAttribute(ApiStruct):
    """One value of a device; the lists belong to a feature that is off by default."""

    int_: int | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None

    @property
    def scalar(self) -> tuple[str, str | int | bool] | None:
        """The type and the value, for constraints; None if it is no scalar."""
        if self.string is not None:
            return "string", self.string
        if self.int_ is not None:
            return "int", self.int_
        if self.bool_ is not None:
            return "bool", self.bool_
        return None if self.version is None else ("version", self.version)

    @property
    def values(self) -> frozenset[tuple[str, str | int | bool]]:
        """Types and values, for comparing lists: a scalar is a list of one."""
        lists = (("int", self.ints), ("bool", self.bools), ("string", self.strings))
        for kind, listed in (*lists, ("version", self.versions)):
            if listed:
                return frozenset((kind, value) for value in listed)
        scalar = self.scalar
        return frozenset() if scalar is None else frozenset([scalar])


class CapacityRequestPolicyRange(ApiStruct):
    """The smallest and largest amount of a capacity that may be requested, and the step."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(ApiStruct):
    """The amounts in which a capacity may be requested."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(ApiStruct):
    """The amount of something that a device has."""

    value: QuantityText = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(ApiStruct):
    """An amount of something that several devices draw on."""

    value: QuantityText = "0"


class CounterSet(ApiStruct):
    """Counters that partitions of one piece of hardware share."""

    name: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class DeviceCounterConsumption(ApiStruct):
    """What a device consumes of a counter set while it is allocated."""

    counter_set: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(ApiStruct):
    """A mark on a device that repels requests that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class BasicDevice(ApiStruct):
    """The fields of a device in v1beta1, where they are one level deeper."""

    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


class Device(BasicDevice):
    """A device of a pool."""

    name: str = ""
    basic: BasicDevice | None = None

    def flat(self) -> "Device":
        """The device in the form of v1."""
        if self.basic is None:
            return self
        return Device(name=self.name, **msgspec.structs.asdict(self.basic))


class ResourcePool(ApiStruct):
    """The pool of a slice; it consists of all slices of its newest generation."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(ApiStruct):
    """Devices of one driver, reachable from one node, from some, or from all."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubeObject):
    """Part of a pool of devices."""

    spec: ResourceSliceSpec = ResourceSliceSpec()


class CELDeviceSelector(ApiStruct):
    """An expression about `device`."""

    expression: str = ""


class DeviceSelector(ApiStruct):
    """Selects devices."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(ApiStruct):
    """Parameters that only the driver reads."""

    driver: str = ""
    parameters: Any = None


class DeviceClassConfiguration(ApiStruct):
    """Parameters of a class for the drivers of its devices."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(ApiStruct):
    """Which devices belong to a class, and the extended resource they stand for."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject):
    """A named class of devices."""

    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(ApiStruct):
    """The devices that a rule taints; an absent field matches all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(ApiStruct):
    """A taint, and the devices that get it."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubeObject):
    """An administrator's taint on devices."""

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
