"""Devices with what feature gates are for: compatibility groups, and attributes that are lists."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft
from tests.differential.features.device_pools import GPU
from tests.differential.features.devices import Devices
from tests.differential.words import Json

GATES = ("DRADeviceCompatibilityGroups", "DRAListTypeAttributes")
GROUPS = ("mig", "vfio", "mps")
LINKS = ("l0", "l1", "l2", "l3")


class GatedDevices(Devices):
    """Groups on partitions and lists of links on devices, with their gates open or closed."""

    name = "gated-devices"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if not incoming:
            return
        if not draft.all("deviceClasses"):
            super().on_pod(draft, pod, incoming)
        dice = draft.dice
        for slice_ in draft.all("resourceSlices"):
            for device in slice_["spec"].get("devices", ()):
                self._extend(dice, device)
        for claim in draft.all("resourceClaims"):
            if dice.chance(0.4):
                kind = dice.pick(("matchAttribute", "matchAttribute", "distinctAttribute"))
                claim["spec"]["devices"]["constraints"] = [{kind: f"{GPU}/links"}]
        gates = {gate: True for gate in GATES if dice.chance(0.7)}
        if gates:
            draft.case["featureGates"] = gates

    def _extend(self, dice: Dice, device: Json) -> None:
        if dice.chance(0.9):
            links = dice.some(LINKS, 1, 3)
            several: Json = {"strings": links} if dice.chance(0.8) else {"ints": [1, len(links)]}
            plain: Json = {"string": links[0]}
            device.setdefault("attributes", {})["links"] = dice.pick((several, several, plain))
        for taken in device.get("consumesCounters", ()):
            if dice.chance(0.7):
                taken["compatibilityGroups"] = dice.some(GROUPS, 1, 2)
