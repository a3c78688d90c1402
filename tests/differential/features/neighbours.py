"""Inter-pod affinity and anti-affinity, of the pod and of those around it."""

from tests.differential import labels
from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.features.affinity import ODD_WEIGHTS
from tests.differential.words import HOSTNAME, NAMESPACES, POD_KEYS, REGION, ZONE, Json

TOPOLOGIES = (HOSTNAME, HOSTNAME, HOSTNAME, ZONE, ZONE, REGION, "disk")
KINDS = ("podAffinity", "podAntiAffinity")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NAMESPACE_VALUES = {"env": ("prod", "dev"), "kubernetes.io/metadata.name": NAMESPACES}


def term(dice: Dice, pod: Json) -> Json:
    made: Json = {"topologyKey": dice.either(TOPOLOGIES, ("missing", "", "a b"))}
    selector = labels.label_selector(dice)
    if dice.chance(0.3):
        selector = labels.app_selector(dice, pod["metadata"].get("labels", {}))
    if selector is not None or dice.chance(0.5):
        made["labelSelector"] = selector
    if dice.chance(0.3):
        made["namespaces"] = dice.some((*NAMESPACES, "nowhere"), 0, 2)
    if dice.chance(0.3):
        made["namespaceSelector"] = labels.label_selector(dice, NAMESPACE_VALUES)
    if dice.chance(0.15):
        made["matchLabelKeys"] = dice.some(POD_KEYS, 1, 2)
    if dice.chance(0.15):
        made["mismatchLabelKeys"] = dice.some(POD_KEYS, 1, 1)
    return made


def terms(dice: Dice, pod: Json) -> Json:
    made: Json = {}
    if dice.chance(0.5):
        made[REQUIRED] = [term(dice, pod) for _ in range(dice.pick((1, 1, 2)))]
    if not made or dice.chance(0.5):
        made[PREFERRED] = [_weighted(dice, pod) for _ in range(dice.count(1, 2))]
    return made


def _weighted(dice: Dice, pod: Json) -> Json:
    weight = dice.pick(ODD_WEIGHTS) if dice.odd() else dice.count(1, 100)
    return {"weight": weight, "podAffinityTerm": term(dice, pod)}


class InterPod(Feature):
    """Terms on the pod to schedule and on some of the others."""

    name = "interpod"
    density = 2.5

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if draft.dice.chance(0.85 if incoming else 0.3):
            affinity = pod["spec"].setdefault("affinity", {})
            for kind in draft.dice.some(KINDS, 1, 2):
                affinity[kind] = terms(draft.dice, pod)


class InterPodArgs(Feature):
    """What other pods' terms weigh."""

    name = "interpodargs"

    def on_case(self, draft: Draft) -> None:
        weight = draft.dice.either((0, 1, 5, 100), (-1, 101))
        args: Json = {"hardPodAffinityWeight": weight}
        if draft.dice.chance(0.5):
            args["ignorePreferredTermsOfExistingPods"] = draft.dice.chance(0.7)
        draft.give("InterPodAffinity", args)


class Namespaces(Feature):
    """Namespaces that are missing, or labelled otherwise."""

    name = "namespaces"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if draft.dice.chance(0.3):
            pod["metadata"]["namespace"] = draft.dice.pick((*NAMESPACES, "unlisted"))

    def on_case(self, draft: Draft) -> None:
        kept = [n for n in draft.case["namespaces"] if draft.dice.chance(0.7)]
        for namespace in kept:
            if draft.dice.chance(0.3):
                namespace["metadata"]["labels"] = labels.labels(draft.dice, NAMESPACE_VALUES)
            elif draft.dice.chance(0.1):
                del namespace["metadata"]["labels"]
        draft.case["namespaces"] = kept
