"""Slices, classes and taint rules for claims to be met from."""

from typing import Any

from tests.differential.dice import Dice
from tests.differential.draft import Draft
from tests.differential.words import ZONE, ZONES, Json

GPU, NIC = "gpu.example.com", "nic.example.com"
MODELS = ("a100", "h100", "l4")
CLASSES = ("gpu", "nic", "any", "big")
RESOURCE = "example.com/gpu"
CLASS_RESOURCES = (
    "deviceclass.resource.kubernetes.io/nic",
    "deviceclass.resource.kubernetes.io/any",
)


def add_classes(draft: Draft) -> None:
    dice = draft.dice
    selectors: dict[str, list[str]] = {
        "gpu": [f"device.driver == '{GPU}'"],
        "nic": [f"device.driver == '{NIC}'"],
        "any": [],
        "big": [
            f"device.capacity['{GPU}'].?memory.orValue(quantity('0'))"
            ".compareTo(quantity('40Gi')) >= 0"
        ],
    }
    for name in CLASSES:
        if dice.chance(0.02):
            continue
        spec: Json = {"selectors": [{"cel": {"expression": each}} for each in selectors[name]]}
        if dice.chance(0.3):
            spec["config"] = [
                {"opaque": {"driver": GPU, "parameters": {"of": name, "n": number}}}
                for number in range(dice.count(1, 2))
            ]
        if name == "gpu" and dice.chance(0.5):
            spec["extendedResourceName"] = RESOURCE
        draft.add("deviceClasses", {"metadata": {"name": name}, "spec": spec})


def add_pools(draft: Draft) -> None:
    dice = draft.dice
    for number, node in enumerate(draft.node_names):
        if dice.chance(0.85):
            add_node_pool(draft, node, number)
        if dice.chance(0.4):
            _add_slices(
                draft,
                NIC,
                node,
                {"nodeName": node},
                [_nic(dice, i) for i in range(dice.count(1, 3))],
            )
    if dice.chance(0.3):
        add_network_pool(draft)


def add_node_pool(draft: Draft, node: str, number: int) -> None:
    dice = draft.dice
    devices = [_gpu(dice, index) for index in range(dice.count(1, 6))]
    counters: list[Json] = []
    if dice.chance(0.25):
        counters = _partition(dice, devices)
    _add_slices(draft, GPU, node, {"nodeName": node}, devices, counters)


def add_network_pool(draft: Draft) -> None:
    dice = draft.dice
    kind = dice.pick(("all", "selector", "device"))
    devices = [_gpu(dice, index) for index in range(dice.count(1, 4))]
    where: Json = {"allNodes": True}
    if kind == "selector":
        where = {"nodeSelector": _selector(dice)}
    elif kind == "device":
        where = {"perDeviceNodeSelection": True}
        for device in devices:
            device.update(
                dice.pick(
                    (
                        {"allNodes": True},
                        {"nodeSelector": _selector(dice)},
                        {"nodeName": dice.pick(draft.node_names or ["gone"])},
                    )
                )
            )
    _add_slices(draft, dice.pick((GPU, NIC)), "net", where, devices)


def _selector(dice: Dice) -> Json:
    needed = {"key": ZONE, "operator": "In", "values": dice.some(ZONES, 1, 2)}
    return {"nodeSelectorTerms": [{"matchExpressions": [needed]}]}


def _add_slices(
    draft: Draft,
    driver: str,
    pool: str,
    where: Json,
    devices: list[Json],
    counters: list[Json] | None = None,
) -> None:
    """A pool in one slice or two; now and then one is missing, left over from before, or has a
    device that another has."""
    dice = draft.dice
    cut = dice.count(1, len(devices)) if len(devices) > 1 and dice.chance(0.3) else len(devices)
    parts: list[Json] = [{"devices": part} for part in (devices[:cut], devices[cut:]) if part]
    if counters:
        parts.append({"sharedCounters": counters})
    if dice.odd(0.15):
        parts.append({"devices": parts[0]["devices"][:1]})
    generation, count = dice.count(1, 3), len(parts) + dice.odd(0.3)
    for number, part in enumerate(parts):
        spec = {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **where,
            **part,
        }
        name = f"{dice.pick('abc')}-{driver.split('.')[0]}-{pool}-{number}"
        draft.add("resourceSlices", {"metadata": {"name": name}, "spec": spec})
        if dice.odd(0.2):
            old = {**spec, "pool": {**spec["pool"], "generation": generation - 1}}
            draft.add("resourceSlices", {"metadata": {"name": f"old-{name}"}, "spec": old})


def _gpu(dice: Dice, index: int) -> Json:
    memory = dice.pick(("16Gi", "40Gi", "80Gi"))
    device: Json = {
        "name": f"gpu-{index}",
        "attributes": {
            "model": {"string": dice.pick(MODELS)},
            "numa": {"int": index // 2},
            "driverVersion": {"version": dice.pick(("1.2.3", "2.0.0", "2.1.0-rc.1"))},
            "resource.example.org/pcieRoot": {"string": f"pci-{dice.count(0, 2)}"},
        },
        "capacity": {"memory": {"value": memory}},
    }
    if dice.chance(0.7):
        device["attributes"]["healthy"] = {"bool": dice.chance(0.8)}
    if dice.chance(0.1):
        del device["attributes"]["resource.example.org/pcieRoot"]
    if dice.chance(0.12):
        device["taints"] = [_taint(dice)]
    if dice.chance(0.08):
        device["bindingConditions"] = ["example.com/ready"]
        device["bindingFailureConditions"] = ["example.com/failed"]
        if dice.chance(0.5):
            device["bindsToNode"] = True
    if dice.chance(0.15):
        _share(dice, device)
    return device


def _share(dice: Dice, device: Json) -> None:
    device["allowMultipleAllocations"] = True
    if dice.chance(0.5):
        policy: Json = dice.pick(
            (
                {"default": "10Gi", "validRange": {"min": "5Gi", "step": "5Gi", "max": "40Gi"}},
                {"default": "1Gi", "validRange": {"min": "1Gi"}},
                {"default": "8Gi", "validValues": ["8Gi", "16Gi"]},
            )
        )
        device["capacity"]["memory"]["requestPolicy"] = policy


def _nic(dice: Dice, index: int) -> Json:
    return {
        "name": f"nic-{index}",
        "attributes": {
            "speed": {"int": dice.pick((10, 100))},
            "numa": {"int": index % 2},
            "resource.example.org/pcieRoot": {"string": f"pci-{dice.count(0, 2)}"},
        },
        **({"taints": [_taint(dice)]} if dice.chance(0.1) else {}),
    }


def _taint(dice: Dice) -> Json:
    effect = dice.pick(("NoSchedule", "NoExecute", "NoSchedule", "None"))
    return {"key": dice.pick(("broken", "old")), "value": dice.pick(("", "yes")), "effect": effect}


def _partition(dice: Dice, devices: list[Json]) -> list[Json]:
    """Give devices shares of two sets of counters, of which there is not enough for all."""
    sets = ("card-0", "card-1")
    for device in devices:
        taken = {"memory": {"value": dice.pick(("10Gi", "20Gi", "40Gi"))}}
        if dice.chance(0.5):
            taken["slots"] = {"value": dice.pick(("1", "2"))}
        used = dice.pick(sets) if not dice.odd(0.1) else "card-9"
        device["consumesCounters"] = [{"counterSet": used, "counters": taken}]
    return [
        {"name": name, "counters": {"memory": {"value": "40Gi"}, "slots": {"value": "2"}}}
        for name in sets
    ]


def add_taint_rules(draft: Draft) -> None:
    dice = draft.dice
    for number in range(dice.pick((0, 0, 1, 2))):
        chosen: Json = {}
        if dice.chance(0.7):
            chosen["driver"] = dice.pick((GPU, NIC))
        if dice.chance(0.5) and draft.node_names:
            chosen["pool"] = dice.pick(draft.node_names)
        if dice.chance(0.5):
            chosen["device"] = dice.pick(("gpu-0", "gpu-1", "nic-0"))
        spec: dict[str, Any] = {"taint": _taint(dice)}
        if chosen:
            spec["deviceSelector"] = chosen
        draft.add("deviceTaintRules", {"metadata": {"name": f"rule{number}"}, "spec": spec})
