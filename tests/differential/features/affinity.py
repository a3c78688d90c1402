"""Node selectors and node affinity, required, preferred and added by the profile."""

from tests.differential import labels
from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import NODE_VALUES, ODD_KEYS, ODD_VALUES, Json

ODD_WEIGHTS = (0, -1, 101, 2147483647)


class NodeSelector(Feature):
    """Labels that a node must have, and nodes with odd labels."""

    name = "nodeselector"

    def on_node(self, draft: Draft, node: Json) -> None:
        for key in draft.dice.some(tuple(NODE_VALUES), 0, 2):
            node["metadata"]["labels"][key] = labels.value(draft.dice, NODE_VALUES, key)
        if draft.dice.odd():
            key = draft.dice.pick(ODD_KEYS)
            node["metadata"]["labels"][key] = draft.dice.pick(ODD_VALUES)
        if draft.dice.odd(0.3):
            del node["metadata"]["labels"]

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming:
            chosen = labels.labels(draft.dice, NODE_VALUES, 0.25)
            pod["spec"]["nodeSelector"] = chosen


class NodeAffinity(Feature):
    """Terms over labels and fields."""

    name = "nodeaffinity"

    def on_node(self, draft: Draft, node: Json) -> None:
        if draft.dice.chance(0.5):
            labelled = node["metadata"].setdefault("labels", {})
            labelled["gen"] = labels.value(draft.dice, NODE_VALUES, "gen")

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if incoming or draft.dice.chance(0.2):
            made = node_affinity(draft.dice, draft.node_names)
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = made


def node_affinity(dice: Dice, names: list[str]) -> Json:
    made: Json = {}
    if dice.chance(0.65):
        selector = labels.node_selector(dice, names)
        made["requiredDuringSchedulingIgnoredDuringExecution"] = selector
    if not made or dice.chance(0.6):
        terms = [_preferred(dice, names) for _ in range(dice.count(1, 4))]
        made["preferredDuringSchedulingIgnoredDuringExecution"] = terms
    return made


def _preferred(dice: Dice, names: list[str]) -> Json:
    weight = dice.pick(ODD_WEIGHTS) if dice.odd() else dice.count(1, 100)
    return {"weight": weight, "preference": labels.node_term(dice, names)}
