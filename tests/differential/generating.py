"""A case from a seed, a number and the features to draw from."""

from collections.abc import Sequence

from tests.differential import base
from tests.differential.dice import Dice
from tests.differential.draft import Draft
from tests.differential.features import FEATURES
from tests.differential.words import Json

MOST_FEATURES = (1, 1, 2, 2, 3, 4, 6, 10)

THEMES = (
    ("priorities", "budgets"),
    ("priorities", "budgets", "lives"),
    ("priorities", "interpod"),
    ("priorities", "interpod", "namespaces"),
    ("priorities", "spread"),
    ("priorities", "ports"),
    ("priorities", "volumes", "limits"),
    ("priorities", "disks"),
    ("priorities", "nominated", "budgets"),
    ("nominated", "interpod"),
    ("nominated", "spread"),
    ("nominated", "ports", "starved"),
    ("interpod", "namespaces", "interpodargs"),
    ("spread", "taints", "nodeaffinity"),
    ("spread", "unschedulable", "nodeselector", "lives"),
    ("owners", "spreadargs"),
    ("owners", "taints", "lives"),
    ("volumes", "limits"),
    ("volumes", "nodeselector", "taints"),
    ("extended", "fit", "balanced"),
    ("extended", "starved", "fit"),
    ("podlevel", "sidecars", "overhead", "resize"),
    ("profiles", "arguments"),
    ("devices",),
    ("devices", "taints", "nodeselector"),
    ("devices", "priorities"),
    ("devices", "extended"),
    ("backed",),
    ("backed", "extended"),
)
"""Features that meet in one rule, and are therefore often drawn together."""


def generate(
    seed: int, number: int, among: Sequence[str], small: bool = False
) -> tuple[Json, list[str]]:
    """The case and the features that went into it."""
    dice = Dice(f"{seed}/{number}/{','.join(among)}", small)
    wanted = set(dice.some(tuple(among), 1, min(dice.pick(MOST_FEATURES), 4 if small else 10)))
    if dice.chance(0.4):
        wanted = set(dice.pick(THEMES)) & set(among) | set(dice.some(sorted(wanted), 0, 1))
    names = [name for name in FEATURES if name in wanted]
    return make(dice, f"{seed}-{number}", names), names


def make(dice: Dice, name: str, features: Sequence[str]) -> Json:
    """Nodes, then running pods, then the one to schedule, then whatever concerns them all."""
    draft = Draft(dice, name)
    chosen = [FEATURES[feature] for feature in features]
    draft.case["namespaces"] = base.namespaces()
    for number in range(base.node_count(dice)):
        node = draft.add("nodes", base.node(dice, number))
        for feature in chosen:
            feature.on_node(draft, node)
    density = max((feature.density for feature in chosen), default=1.0)
    for number in range(base.pod_count(dice, len(draft.node_names), density)):
        pod = draft.add("pods", base.running_pod(draft, number))
        for feature in chosen:
            feature.on_pod(draft, pod, incoming=False)
    draft.case["pod"] = pod = base.waiting_pod(draft)
    for feature in chosen:
        feature.on_pod(draft, pod, incoming=True)
    for feature in chosen:
        feature.on_case(draft)
    return draft.case
