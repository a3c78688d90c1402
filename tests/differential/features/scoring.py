"""How resources are scored, and which are overlooked."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import Json

RESOURCES = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "pods")
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


def resources(dice: Dice, weights: tuple[int, ...]) -> list[Json]:
    made = [
        {"name": name, "weight": dice.either(weights, (0, 101, -1))}
        for name in dice.some(RESOURCES, 0, 4)
    ]
    if dice.odd(0.3) and made:
        made.append(dict(made[0]))
    return made


def shape(dice: Dice) -> list[Json]:
    """Points of a broken line, in order unless odd."""
    steps = sorted(dice.some(tuple(range(101)), 1, 5))
    points: list[Json] = [{"utilization": at, "score": dice.count(0, 10)} for at in steps]
    if dice.odd(0.3):
        points.append({"utilization": dice.pick((0, 101, -1)), "score": dice.pick((11, -1))})
    return [] if dice.odd(0.1) else points


class Fit(Feature):
    """The three strategies over several resources; resources that Fit ignores."""

    name = "fit"

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        args: Json = {}
        if dice.chance(0.85):
            args["scoringStrategy"] = self._strategy(dice)
        if dice.chance(0.3):
            args["ignoredResources"] = dice.some(("nvidia.com/gpu", "example.com/fpga"), 1, 2)
            if dice.odd():
                args["ignoredResources"] += dice.some(("cpu", "memory", "a b", ""), 1, 1)
        if dice.chance(0.3):
            groups = dice.either((["nvidia.com"], ["example.com"]), (["a/b"], [""], ["*"]))
            args["ignoredResourceGroups"] = groups
        draft.give("NodeResourcesFit", args)

    def _strategy(self, dice: Dice) -> Json:
        kind = dice.either(STRATEGIES, ("", "Odd"))
        made: Json = {"type": kind}
        if dice.chance(0.8):
            made["resources"] = resources(dice, (1, 2, 5, 100))
        if (kind == STRATEGIES[2] and not dice.odd(0.2)) or dice.odd(0.1):
            made["requestedToCapacityRatio"] = {"shape": shape(dice)}
        return made


class Balanced(Feature):
    """The resources whose use is balanced."""

    name = "balanced"

    def on_case(self, draft: Draft) -> None:
        made = resources(draft.dice, (1,))
        draft.give("NodeResourcesBalancedAllocation", {"resources": made})
