"""What a pod requests in all: init containers, sidecars, overhead, the pod's own, resizes."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft, Feature
from tests.differential.features.amounts import amount
from tests.differential.words import Json


def some_requests(dice: Dice, low: int = 0) -> Json:
    return {name: amount(dice, name) for name in dice.some(("cpu", "memory"), low, 2)}


class Sidecars(Feature):
    """Init containers, some of which go on running."""

    name = "sidecars"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice = draft.dice
        if dice.chance(0.8 if incoming else 0.4):
            made = [self._container(dice, number) for number in range(dice.count(1, 3))]
            pod["spec"]["initContainers"] = made

    def _container(self, dice: Dice, number: int) -> Json:
        made: Json = {"name": f"i{number}", "image": "busybox", "resources": {}}
        if dice.chance(0.9):
            made["resources"]["requests"] = some_requests(dice)
        if dice.chance(0.5):
            made["restartPolicy"] = dice.either(("Always",), ("Never", "OnFailure", ""))
        return made


class Overhead(Feature):
    """What the runtime itself needs."""

    name = "overhead"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        if draft.dice.chance(0.8 if incoming else 0.4):
            pod["spec"]["overhead"] = some_requests(draft.dice)
            if draft.dice.odd():
                pod["spec"]["overhead"]["nvidia.com/gpu"] = "1"


class PodLevel(Feature):
    """Resources of the pod as a whole."""

    name = "podlevel"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice = draft.dice
        if not dice.chance(0.8 if incoming else 0.4):
            return
        requests = some_requests(dice)
        if dice.chance(0.2):
            requests["hugepages-2Mi"] = dice.pick(("0", "64Mi"))
        if dice.odd():
            requests[dice.pick(("nvidia.com/gpu", "ephemeral-storage"))] = "1"
        pod["spec"]["resources"] = dice.pick(({"requests": requests}, {"requests": requests}, {}))
        if dice.chance(0.2):
            pod["spec"]["resources"]["limits"] = some_requests(dice)


class Resize(Feature):
    """Pods that are resized in place: what is asked, allocated and in force differ."""

    name = "resize"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice, status = draft.dice, pod["status"]
        if incoming and "nodeName" in pod["spec"]:
            return
        if not dice.chance(0.3 if incoming else 0.7):
            return
        status["containerStatuses"] = self._statuses(dice, pod["spec"]["containers"])
        if pod["spec"].get("initContainers"):
            made = self._statuses(dice, pod["spec"]["initContainers"])
            status["initContainerStatuses"] = made
        if dice.chance(0.4):
            reason = dice.pick(("Infeasible", "Deferred", ""))
            status["conditions"] = [
                {"type": "PodResizePending", "status": "True", "reason": reason}
            ]
        if dice.chance(0.3):
            status["allocatedResources"] = some_requests(dice, 1)
        if dice.chance(0.3):
            status["resources"] = {"requests": some_requests(dice, 1)}

    def _statuses(self, dice: Dice, containers: list[Json]) -> list[Json]:
        made = []
        for container in containers:
            status: Json = {"name": container["name"]}
            if dice.chance(0.6):
                status["allocatedResources"] = some_requests(dice, 1)
            if dice.chance(0.6):
                status["resources"] = {"requests": some_requests(dice, 1)}
            made.append(status)
        if dice.odd() and made:
            made.append({"name": dice.pick(("c0", "gone")), "allocatedResources": {"cpu": "3"}})
        return made
