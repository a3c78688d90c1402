"""What nodes offer and containers request: odd notations, extended resources, little room."""

from tests.differential import quantities
from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import Json

SCALARS = (
    "nvidia.com/gpu",
    "example.com/fpga",
    "hugepages-2Mi",
    "hugepages-1Gi",
    "attachable-volumes-csi-x",
)
ODD_SCALARS = (
    "kubernetes.io/thing",
    "requests.example.com/x",
    "sub.kubernetes.io/x",
    "plain",
    "storage",
    "services.nodeports",
    "Example.com/UPPER",
    "example.com/" + "r" * 60,
    "example.com/",
    "hugepages-",
    "",
)


def requests_of(container: Json) -> Json:
    found: Json = container["resources"].setdefault("requests", {})
    return found


def amount(dice: Dice, resource: str) -> object:
    if resource == "cpu":
        return quantities.cpu(dice)
    if resource == "memory" or resource.startswith("hugepages"):
        return quantities.memory(dice)
    return quantities.storage(dice) if resource == "ephemeral-storage" else quantities.count(dice)


class Quantities(Feature):
    """Zero, huge, fractional and exponential amounts; amounts that are missing."""

    name = "quantities"

    def on_node(self, draft: Draft, node: Json) -> None:
        offered, dice = node["status"]["allocatable"], draft.dice
        for resource in tuple(offered):
            if dice.chance(0.1):
                offered[resource] = amount(dice, resource)
            elif dice.odd(0.3):
                del offered[resource]
        if dice.odd(0.2):
            del node["status"]["allocatable"]

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        for container in pod["spec"]["containers"]:
            for resource in draft.dice.some(("cpu", "memory", "ephemeral-storage"), 0, 3):
                requests_of(container)[resource] = amount(draft.dice, resource)
            if draft.dice.odd(0.2):
                container["resources"]["limits"] = {"cpu": "1", "memory": "1Gi"}


class Extended(Feature):
    """Extended resources, huge pages, and names that are neither."""

    name = "extended"

    def on_node(self, draft: Draft, node: Json) -> None:
        if not draft.dice.chance(0.6):
            return
        for resource in draft.dice.some(SCALARS, 1, 3):
            node["status"].setdefault("allocatable", {})[resource] = amount(draft.dice, resource)
        if draft.dice.odd():
            odd = draft.dice.pick(ODD_SCALARS)
            node["status"].setdefault("allocatable", {})[odd] = quantities.count(draft.dice)

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if not draft.dice.chance(0.9 if incoming else 0.4):
            return
        container = draft.dice.pick(pod["spec"]["containers"])
        for resource in draft.dice.some(SCALARS, 1, 2):
            requests_of(container)[resource] = amount(draft.dice, resource)
        if draft.dice.odd():
            requests_of(container)[draft.dice.pick(ODD_SCALARS)] = quantities.count(draft.dice)


class Starved(Feature):
    """Nodes with hardly any room, so that several resources are short at once."""

    name = "starved"

    def on_node(self, draft: Draft, node: Json) -> None:
        offered, dice = node["status"].setdefault("allocatable", {}), draft.dice
        offered |= {
            "cpu": dice.pick(("0", "100m", "500m", "1")),
            "memory": dice.pick(("0", "300Mi")),
        }
        offered["pods"] = dice.pick(("0", "1", "2", "30"))
        if dice.chance(0.3):
            offered["ephemeral-storage"] = dice.pick(("0", "1Gi"))

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming and draft.dice.chance(0.5):
            for container in pod["spec"]["containers"]:
                requests_of(container)["ephemeral-storage"] = quantities.storage(draft.dice)
