"""A case in the making, and what a feature may add to it."""

from typing import Any

from tests.differential.dice import Dice
from tests.differential.words import APPS, Json

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


class Draft:
    """A case and the dice it is made with."""

    def __init__(self, dice: Dice, name: str) -> None:
        self.dice = dice
        self.apps = dice.some(APPS, 1, 3)
        self.is_uniform = dice.chance(0.2)
        """Whether pods are alike, so that nodes tie."""
        self.case: Json = {"id": name, "nodes": [], "pods": [], "pod": {}}

    @property
    def node_names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.case["nodes"]]

    @property
    def every_pod(self) -> list[Json]:
        return [*self.case["pods"], self.case["pod"]]

    def add(self, field: str, obj: Json) -> Json:
        self.case.setdefault(field, []).append(obj)
        return obj

    def all(self, field: str) -> list[Json]:
        return list(self.case.get(field) or ())

    def profile(self) -> Json:
        """The profile of the pod to schedule, made where there is none."""
        config = self.case.setdefault("config", {**CONFIG, "profiles": []})
        if not config["profiles"]:
            config["profiles"].append({"schedulerName": "default-scheduler"})
        profile: Json = config["profiles"][-1]
        return profile

    def plugins(self, point: str) -> Json:
        """The plugin set of one extension point of the profile."""
        sets: Json = self.profile().setdefault("plugins", {})
        found: Json = sets.setdefault(point, {})
        return found

    def give(self, plugin: str, args: dict[str, Any]) -> None:
        """Give a plugin arguments, unless it has some."""
        given: list[Json] = self.profile().setdefault("pluginConfig", [])
        if all(entry["name"] != plugin for entry in given):
            given.append({"name": plugin, "args": args})


class Feature:
    """A theme of cases. What it does not touch stays as the base made it."""

    name = ""
    density = 1.0
    """How many pods a node has, on average."""

    def on_node(self, draft: Draft, node: Json) -> None:
        """Called for each node."""

    def on_pod(self, draft: Draft, pod: Json, incoming: bool) -> None:
        """Called for each pod, once all nodes are there; last for the one to schedule."""

    def on_case(self, draft: Draft) -> None:
        """Called once, when nodes and pods are there."""
