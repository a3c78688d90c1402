"""Topology spread: constraints of the pod, and those it gets by default."""

from tests.differential import labels
from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.words import HOSTNAME, POD_KEYS, REGION, ZONE, Json

TOPOLOGIES = (HOSTNAME, HOSTNAME, ZONE, ZONE, ZONE, REGION, "disk")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")


def constraint(dice: Dice, pod: Json) -> Json:
    made: Json = {
        "maxSkew": dice.either((1, 1, 2, 3, 5), (1000, 2147483647)),
        "topologyKey": dice.either(TOPOLOGIES, ("missing", "", "a b")),
        "whenUnsatisfiable": dice.either(ACTIONS, ("", "Odd")),
    }
    selector = labels.label_selector(dice)
    if dice.chance(0.7):
        selector = labels.app_selector(dice, pod["metadata"].get("labels", {}))
    if selector is not None or dice.chance(0.5):
        made["labelSelector"] = selector
    _refine(dice, made)
    return made


def _refine(dice: Dice, made: Json) -> None:
    if dice.chance(0.25):
        made["minDomains"] = dice.either((1, 2, 3, 5), (0, -1))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if dice.chance(0.3):
            made[policy] = dice.either(POLICIES, ("", "Odd"))
    if dice.chance(0.2):
        made["matchLabelKeys"] = dice.some(POD_KEYS, 1, 2)


class Spread(Feature):
    """One to three constraints on the pod, and nodes that differ in what it may spread over."""

    name = "spread"
    density = 4.0

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if draft.dice.chance(0.95 if incoming else 0.1):
            many = draft.dice.count(1, 3)
            made = [constraint(draft.dice, pod) for _ in range(many)]
            pod["spec"]["topologySpreadConstraints"] = made


class Owners(Feature):
    """Services, replica sets and the like, which give pods default constraints."""

    name = "owners"

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        for number in range(dice.count(0, 2)):
            draft.add("services", self._service(draft, number))
        kind, field, group = dice.pick(
            (
                ("ReplicaSet", "replicaSets", "apps/v1"),
                ("StatefulSet", "statefulSets", "apps/v1"),
                ("ReplicationController", "replicationControllers", "v1"),
                ("Job", "", "batch/v1"),
            )
        )
        self._own(draft, kind, group)
        if field and dice.chance(0.9):
            draft.add(field, self._owner(draft, kind))

    def _service(self, draft: Draft, number: int) -> Json:
        dice, pod = draft.dice, draft.case["pod"]["metadata"]
        namespace = pod["namespace"] if dice.chance(0.8) else "default"
        spec: Json = {}
        if not dice.chance(0.1):
            chosen = dict(dice.some(tuple(pod["labels"].items()), 1, 2))
            spec["selector"] = chosen if dice.chance(0.8) else {"app": "db"}
        if dice.odd(0.5):
            spec["selector"] = {}
        return {"metadata": {"name": f"svc{number}", "namespace": namespace}, "spec": spec}

    def _own(self, draft: Draft, kind: str, group: str) -> None:
        if draft.dice.chance(0.8):
            reference: Json = {"apiVersion": group, "kind": kind, "name": "owner", "uid": "owner-1"}
            reference["controller"] = not draft.dice.chance(0.1)
            draft.case["pod"]["metadata"]["ownerReferences"] = [reference]

    def _owner(self, draft: Draft, kind: str) -> Json:
        metadata = draft.case["pod"]["metadata"]
        plain = kind == "ReplicationController"
        selector = {"app": metadata["labels"].get("app", "db")}
        if not plain:
            wanted = labels.app_selector(draft.dice, metadata["labels"])
        return {
            "metadata": {"name": "owner", "namespace": metadata["namespace"], "uid": "owner-1"},
            "spec": {"selector": selector if plain else wanted},
        }


class SpreadArgs(Feature):
    """Default constraints, from the system or from a list."""

    name = "spreadargs"

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        args: Json = {"defaultingType": dice.either(("List", "System"), ("", "Odd"))}
        if args["defaultingType"] == "List" or dice.odd():
            args["defaultConstraints"] = [self._default(dice, key) for key in self._keys(dice)]
        draft.give("PodTopologySpread", args)

    def _keys(self, dice: Dice) -> list[str]:
        return dice.some((HOSTNAME, ZONE, REGION, "disk"), 0, 3)

    def _default(self, dice: Dice, key: str) -> Json:
        made: Json = {
            "maxSkew": dice.either((1, 2, 3), (0, 9)),
            "topologyKey": key,
            "whenUnsatisfiable": dice.either(ACTIONS, ("",)),
        }
        _refine(dice, made)
        return made
