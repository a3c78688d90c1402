"""Labels, and selectors over them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.dice import Dice
from tests.differential.words import NODE_VALUES, ODD_KEYS, ODD_VALUES, POD_VALUES, Json

Values = Mapping[str, Sequence[str]]

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
ODD_OPERATORS = ("", "in", "Equals", "=", "Gt")


def labels(dice: Dice, values: Values, chance: float = 0.6) -> dict[str, str]:
    """Some of the keys, each with one of its values."""
    chosen = {key: value(dice, values, key) for key in values if dice.chance(chance)}
    if dice.odd(0.3):
        chosen[dice.pick(ODD_KEYS)] = dice.pick(ODD_VALUES)
    return chosen


def value(dice: Dice, values: Values, key: str) -> str:
    return dice.pick(ODD_VALUES) if dice.odd(0.5) else dice.pick(values.get(key) or ("x",))


def key(dice: Dice, values: Values) -> str:
    return dice.pick(ODD_KEYS) if dice.odd(0.3) else dice.pick(tuple(values))


def pod_labels(dice: Dice, apps: Sequence[str]) -> dict[str, str]:
    return labels(dice, POD_VALUES, 0.35) | {"app": value(dice, {"app": apps}, "app")}


def expression(dice: Dice, values: Values, operators: Sequence[str]) -> Json:
    """One requirement; odd ones are malformed as often as not."""
    chosen_key = key(dice, values)
    operator = dice.pick(ODD_OPERATORS) if dice.odd(0.3) else dice.pick(operators)
    made: Json = {"key": chosen_key, "operator": operator}
    if operator in ("Gt", "Lt"):
        made["values"] = [str(dice.count(0, 9))] if not dice.odd(0.5) else odd_bounds(dice)
    elif operator in ("In", "NotIn") or dice.odd(0.3):
        wanted = 0 if dice.odd(0.3) else dice.count(1, 3)
        made["values"] = [value(dice, values, chosen_key) for _ in range(wanted)]
    return made


def odd_bounds(dice: Dice) -> list[str]:
    return [dice.pick(ODD_VALUES) for _ in range(dice.pick((0, 1, 1, 1, 2)))]


def label_selector(dice: Dice, values: Values = POD_VALUES) -> Json | None:
    """A selector for pods (or whatever has such labels); odd ones are empty or null."""
    if dice.odd(0.5) or dice.chance(0.03):
        return dice.pick((None, {}))
    made: Json = {}
    if dice.chance(0.7):
        chosen = key(dice, values)
        made["matchLabels"] = {chosen: value(dice, values, chosen)}
    if not made or dice.chance(0.35):
        many = dice.count(1, 2)
        made["matchExpressions"] = [expression(dice, values, LABEL_OPERATORS) for _ in range(many)]
    return made


def app_selector(dice: Dice, of: Mapping[str, Any]) -> Json:
    """A selector that is likely to select the labels given."""
    if dice.chance(0.6) and "app" in of:
        return {"matchLabels": {"app": of["app"]}}
    return label_selector(dice) or {}


def node_term(dice: Dice, names: Sequence[str]) -> Json:
    """One node selector term over labels, fields or both."""
    if dice.odd(0.5) or dice.chance(0.03):
        return {}
    term: Json = {}
    values = {**NODE_VALUES, "kubernetes.io/hostname": names or ("none",)}
    if dice.chance(0.85):
        many = dice.count(1, 3)
        term["matchExpressions"] = [expression(dice, values, NODE_OPERATORS) for _ in range(many)]
    if not term or dice.chance(0.2):
        term["matchFields"] = [_field(dice, names) for _ in range(dice.pick((1, 1, 1, 2)))]
    return term


def _field(dice: Dice, names: Sequence[str]) -> Json:
    named = [dice.pick(names)] if names and not dice.chance(0.1) else ["nowhere"]
    if dice.odd(0.5):
        named = dice.pick(([], [*named, *named], [""], named))
    operator = dice.either(("In", "NotIn"), ("Exists", "Gt", ""))
    field = "metadata.namespace" if dice.odd(0.3) else "metadata.name"
    return {"key": field, "operator": operator, "values": named}


def node_selector(dice: Dice, names: Sequence[str]) -> Json:
    many = 0 if dice.odd(0.3) else dice.pick((1, 1, 1, 2, 2, 3))
    return {"nodeSelectorTerms": [node_term(dice, names) for _ in range(many)]}
