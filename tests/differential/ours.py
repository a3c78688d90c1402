"""Moorage's decisions, in this process."""

import copy
import traceback
from collections.abc import Sequence

from moorage.app import built_in_plugins
from moorage.explain.evaluator import evaluate
from moorage.framework.plugin_registry import Registry
from tests.differential.draft import CONFIG
from tests.differential.words import Json

PLUGIN = "DynamicResources"


def with_gates(case: Json) -> Json:
    """The case with its feature gates where Moorage looks for them: in the plugin's arguments."""
    gates = case.get("featureGates")
    if not gates:
        return case
    config = copy.deepcopy(case.get("config") or {**CONFIG, "profiles": []})
    for profile in config.setdefault("profiles", []) or [_default(config)]:
        given = profile.setdefault("pluginConfig", [])
        entry = next((each for each in given if each["name"] == PLUGIN), None)
        if entry is None:
            entry = {"name": PLUGIN, "args": {}}
            given.append(entry)
        entry["args"] = {**(entry.get("args") or {}), "featureGates": gates}
    return {**case, "config": config}


def _default(config: Json) -> Json:
    made: Json = {"schedulerName": "default-scheduler"}
    config["profiles"].append(made)
    return made


class Ours:
    """The same questions, answered by Moorage."""

    def __init__(self, known: Registry | None = None) -> None:
        self.known = known if known is not None else built_in_plugins.built_in()

    def ask(self, cases: Sequence[Json]) -> list[Json]:
        return [self._answer(case) for case in cases]

    def decide(self, case: Json) -> Json:
        return evaluate(with_gates(case), self.known)

    def _answer(self, case: Json) -> Json:
        try:
            return self.decide(case)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
            text = f"{type(error).__name__}: {error}"
            return {"id": case.get("id"), "error": text, "place": place}
