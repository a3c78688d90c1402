"""Pods that end, have ended, or sit on nodes that are gone."""

from tests.differential.draft import Draft, Feature
from tests.differential.words import Json


class Lives(Feature):
    """Terminating, finished and lost pods; twins; pods without labels or start."""

    name = "lives"

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        dice, metadata, status = draft.dice, pod["metadata"], pod["status"]
        if incoming:
            return
        if dice.chance(0.25):
            metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
        if dice.chance(0.25):
            status["phase"] = dice.pick(("Succeeded", "Failed", "Pending", "Unknown"))
        if dice.chance(0.15):
            pod["spec"]["nodeName"] = dice.pick(("gone", "gone-too"))
        if dice.chance(0.1):
            metadata.pop("labels", None)
        if dice.chance(0.1):
            pod["status"] = {}
        if dice.odd(0.3):
            pod["spec"]["containers"] = []
