"""Profiles: plugins on and off, in other orders, with other weights and arguments."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.features.affinity import node_affinity
from tests.differential.features.scoring import shape
from tests.differential.words import Json

PLUGINS = (
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "NodeDeclaredFeatures",
)
SCORERS = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
FILTERS = PLUGINS[:12]
POINTS = (
    "preEnqueue",
    "preFilter",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
ODD_PLUGINS = (
    "Unheard",
    "PrioritySort",
    "DefaultBinder",
    "SchedulingGates",
    "DynamicResources",
    "GangScheduling",
    "PodGroupPodsCount",
    "DeferredPodScheduling",
    "*",
)
WEIGHTS = (1, 2, 7, 100)
ODD_WEIGHTS = (0, -1, 1000000, 9223372036854775807 // 100)


def enabled(dice: Dice, names: list[str]) -> list[Json]:
    made: list[Json] = []
    for name in names:
        entry: Json = {"name": name}
        if dice.chance(0.6):
            entry["weight"] = dice.either(WEIGHTS, ODD_WEIGHTS)
        made.append(entry)
    return made


class Profiles(Feature):
    """Enabling and disabling at one point, at several, or at all."""

    name = "profiles"

    def on_case(self, draft: Draft) -> None:
        change = draft.dice.pick(
            (self._multi, self._scores, self._scores, self._point, self._filters)
        )
        change(draft)
        if draft.dice.chance(0.25):
            self._scores(draft)
        if draft.dice.chance(0.15):
            self._other_profiles(draft)

    def _multi(self, draft: Draft) -> None:
        dice, found = draft.dice, draft.plugins("multiPoint")
        if dice.chance(0.7):
            off = dice.some(PLUGINS, 1, 4) if not dice.chance(0.1) else ["*"]
            found["disabled"] = [{"name": name} for name in off]
            if off == ["*"]:
                base = ["PrioritySort", "DefaultBinder", *dice.some(PLUGINS, 2, 9)]
                found["enabled"] = enabled(dice, base)
        if "enabled" not in found and dice.chance(0.7):
            found["enabled"] = enabled(dice, dice.some(PLUGINS, 1, 3))
        if dice.odd(0.3):
            found.setdefault("enabled", []).append({"name": dice.pick(ODD_PLUGINS)})

    def _scores(self, draft: Draft) -> None:
        dice, found = draft.dice, draft.plugins("score")
        on = dice.some(SCORERS, 1, 4)
        off = dice.pick((["*"], on, dice.some(SCORERS, 1, 3)))
        found["disabled"] = [{"name": name} for name in off]
        if dice.chance(0.9):
            found["enabled"] = enabled(dice, on)

    def _filters(self, draft: Draft) -> None:
        """Another order of filters: who refuses first changes."""
        dice, found = draft.dice, draft.plugins("filter")
        found["disabled"] = [{"name": "*"}]
        found["enabled"] = enabled(dice, dice.some(FILTERS, 3, 12))

    def _point(self, draft: Draft) -> None:
        dice = draft.dice
        found = draft.plugins(dice.pick(POINTS))
        if dice.chance(0.8):
            found["disabled"] = [{"name": name} for name in dice.some((*PLUGINS, "*"), 1, 3)]
        if dice.odd() or dice.chance(0.15):
            found["enabled"] = enabled(dice, dice.some((*PLUGINS, *ODD_PLUGINS), 1, 1))

    def _other_profiles(self, draft: Draft) -> None:
        draft.profile()
        profiles = draft.case["config"]["profiles"]
        other: Json = {
            "schedulerName": "other",
            "plugins": {"score": {"disabled": [{"name": "*"}]}},
        }
        profiles.insert(0, other)
        if draft.dice.chance(0.3):
            name = draft.dice.either(("other",), ("unheard", ""))
            draft.case["pod"]["spec"]["schedulerName"] = name


class Arguments(Feature):
    """Arguments of the plugins that take any."""

    name = "arguments"

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        if dice.chance(0.6):
            draft.give("NodeAffinity", {"addedAffinity": node_affinity(dice, draft.node_names)})
        if dice.chance(0.3):
            args: Json = {"bindTimeoutSeconds": dice.either((0, 600), (-1,))}
            if dice.chance(0.5):
                args["shape"] = shape(dice)
            draft.give("VolumeBinding", args)
        if dice.chance(0.3):
            percent, absolute = dice.either((0, 10, 100), (-1, 101)), dice.either((0, 1), (-1,))
            args = {"minCandidateNodesPercentage": percent, "minCandidateNodesAbsolute": absolute}
            draft.give("DefaultPreemption", args)
        if dice.odd(0.3):
            draft.give(dice.pick(("ImageLocality", "Unheard", "NodeName")), {"x": 1})
