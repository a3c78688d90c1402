"""Pods that ask for devices as extended resources, and scorers that count devices."""

from tests.differential.draft import Draft
from tests.differential.features import device_pools
from tests.differential.features.device_pools import CLASS_RESOURCES, RESOURCE
from tests.differential.features.devices import Devices
from tests.differential.features.scoring import STRATEGIES, shape
from tests.differential.words import Json


class Backed(Devices):
    """Scorers go by resources for which device classes stand."""

    name = "backed"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if not incoming:
            return
        dice = draft.dice
        if not draft.all("deviceClasses"):
            device_pools.add_classes(draft)
            device_pools.add_pools(draft)
            self._hold_some(draft)
        if dice.chance(0.4) and "initContainers" not in pod["spec"]:
            pod["spec"]["initContainers"] = [
                {
                    "name": f"i{number}",
                    "image": "busybox",
                    "resources": {},
                    **({"restartPolicy": "Always"} if dice.chance(0.4) else {}),
                }
                for number in range(dice.count(1, 3))
            ]
        for _ in range(dice.pick((1, 1, 2, 4))):
            self._extended(dice, pod)

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        names = (RESOURCE, *CLASS_RESOURCES, "cpu", "memory", "ephemeral-storage")
        strategy: Json = {"type": dice.pick(STRATEGIES)}
        strategy["resources"] = [
            {"name": name, "weight": dice.pick((1, 2, 5))} for name in dice.some(names, 1, 4)
        ]
        if strategy["type"] == STRATEGIES[2]:
            strategy["requestedToCapacityRatio"] = {"shape": shape(dice)}
        draft.give("NodeResourcesFit", {"scoringStrategy": strategy})
        if dice.chance(0.5):
            self._balance(draft, names)

    def _balance(self, draft: Draft, names: tuple[str, ...]) -> None:
        """Balance devices of classes without selectors: kube-scheduler panics over others."""
        evened = [{"name": name, "weight": 1} for name in draft.dice.some(names, 1, 4)]
        draft.give("NodeResourcesBalancedAllocation", {"resources": evened})
        for cls in draft.all("deviceClasses"):
            cls["spec"].pop("selectors", None)
