"""Taints, tolerations in every form, and cordoned nodes."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import Json

CORDON = "node.kubernetes.io/unschedulable"
KEYS = ("dedicated", "gpu", "spot-instance", "node.kubernetes.io/not-ready", CORDON)
VALUES = ("", "ml", "db", "true", "5", "10")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Equal", "Exists", "")
ODD_OPERATORS = ("Gt", "Lt", "exists", "Nonsense")


def taint(dice: Dice) -> Json:
    made: Json = {"key": dice.pick(KEYS), "effect": dice.either(EFFECTS, ("", "Odd", "noschedule"))}
    if dice.chance(0.8):
        made["value"] = dice.pick(VALUES)
    return made


def toleration(dice: Dice) -> Json:
    made: Json = {}
    if dice.chance(0.85):
        made["key"] = dice.pick(KEYS)
    if dice.chance(0.7) or "key" not in made:
        made["operator"] = "Exists" if "key" not in made else dice.either(OPERATORS, ODD_OPERATORS)
    if dice.chance(0.6) and (made.get("operator") != "Exists" or dice.odd()):
        made["value"] = dice.pick(VALUES)
    if dice.chance(0.5):
        made["effect"] = dice.either(EFFECTS, ("Odd", ""))
    if dice.chance(0.1):
        made["tolerationSeconds"] = dice.pick((0, 30, -1))
    return made


class Taints(Feature):
    """Up to three taints a node, and up to four tolerations."""

    name = "taints"

    def on_node(self, draft: Draft, node: Json) -> None:
        if draft.dice.chance(0.6):
            made = [taint(draft.dice) for _ in range(draft.dice.count(1, 3))]
            node["spec"]["taints"] = made

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming and draft.dice.chance(0.8):
            many = draft.dice.count(1, 4)
            pod["spec"]["tolerations"] = [toleration(draft.dice) for _ in range(many)]


class Unschedulable(Feature):
    """Cordoned nodes, and pods that go there all the same."""

    name = "unschedulable"

    def on_node(self, draft: Draft, node: Json) -> None:
        if draft.dice.chance(0.5):
            node["spec"]["unschedulable"] = True
            if draft.dice.chance(0.3):
                mark = {"key": CORDON, "effect": "NoSchedule"}
                node["spec"].setdefault("taints", []).append(mark)

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming and draft.dice.chance(0.5):
            made = toleration(draft.dice)
            if draft.dice.chance(0.6):
                made["key"] = CORDON
            pod["spec"].setdefault("tolerations", []).append(made)
