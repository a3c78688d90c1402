"""Priorities, budgets, and pods that were promised a node."""

from tests.differential import labels
from tests.differential.draft import Draft, Feature
from tests.differential.features.amounts import requests_of
from tests.differential.words import NAMESPACES, Json

PRIORITIES = (0, 0, 10, 100, 100, 1000)
ODD_PRIORITIES = (-1, -2147483648, 2147483647, 2000001000, None)
STARTS = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", None)


class Priorities(Feature):
    """A full cluster, and a pod that may be worth more than what runs there."""

    name = "priorities"
    density = 3.0

    def on_node(self, draft: Draft, node: Json) -> None:
        offered = node["status"].setdefault("allocatable", {})
        offered |= {"cpu": draft.dice.pick(("3", "4")), "memory": "16Gi"}
        if draft.dice.chance(0.3):
            offered["pods"] = draft.dice.pick(("3", "4"))

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice, spec = draft.dice, pod["spec"]
        usual = (100, 1000, 1000, 5000) if incoming else PRIORITIES
        priority = dice.either(usual, ODD_PRIORITIES)
        if draft.is_uniform:
            priority = 1000 if incoming else 10
        if priority is not None:
            spec["priority"] = priority
        for container in spec["containers"]:
            wanted = ("1", "1500m", "3") if incoming else ("500m", "1", "1", "1500m")
            requests_of(container)["cpu"] = "1" if draft.is_uniform else dice.pick(wanted)
        if incoming and dice.chance(0.15):
            spec["preemptionPolicy"] = dice.either(("Never", "PreemptLowerPriority"), ("Odd",))
        if not incoming:
            self._start(draft, pod)

    def _start(self, draft: Draft, pod: Json) -> None:
        start = STARTS[0] if draft.is_uniform else draft.dice.pick(STARTS)
        if start is None:
            pod["status"].pop("startTime", None)
        elif draft.is_uniform or draft.dice.chance(0.6):
            pod["status"]["startTime"] = start
        if draft.dice.chance(0.1):
            pod["metadata"]["deletionTimestamp"] = "2026-02-01T00:00:00Z"
            if draft.dice.chance(0.5):
                pod["status"]["conditions"] = [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                    }
                ]

    def on_case(self, draft: Draft) -> None:
        if draft.dice.chance(0.2) and draft.node_names:
            nominated = draft.dice.pick((*draft.node_names, "gone"))
            draft.case["pod"]["status"]["nominatedNodeName"] = nominated


class Budgets(Feature):
    """Disruption budgets with more or less left."""

    name = "budgets"

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        for number in range(dice.count(1, 4)):
            status: Json = {"disruptionsAllowed": dice.either((0, 0, 1, 2), (-1,))}
            if dice.chance(0.2) and draft.case["pods"]:
                victim = dice.pick(draft.case["pods"])["metadata"]["name"]
                status["disruptedPods"] = {victim: "2026-01-01T00:00:00Z"}
            made: Json = {
                "metadata": {"name": f"pdb{number}", "namespace": dice.pick(NAMESPACES[:3])},
                "spec": {},
                "status": status,
            }
            selector = labels.label_selector(dice)
            if dice.chance(0.6):
                selector = {"matchLabels": {"app": dice.pick(draft.apps)}}
            if selector is not None:
                made["spec"]["selector"] = selector
            draft.add("podDisruptionBudgets", made)


class Nominated(Feature):
    """Waiting pods that hold a node already."""

    name = "nominated"

    def on_case(self, draft: Draft) -> None:
        dice = draft.dice
        pods = draft.case["pods"]
        if not draft.node_names:
            return
        for number in range(dice.count(1, 3)):
            if not pods:
                return
            pod = pods.pop(dice.count(0, len(pods) - 1))
            pod["spec"].pop("nodeName", None)
            pod["metadata"] |= {"name": f"promised{number}", "uid": f"uid-promised{number}"}
            pod["metadata"].pop("deletionTimestamp", None)
            pod["spec"]["priority"] = dice.pick((0, 100, 1000, 5000))
            node = dice.pick(draft.node_names) if not dice.odd() else "gone"
            pod["status"] = {"phase": "Pending", "nominatedNodeName": node}
            draft.add("nominated", pod)
