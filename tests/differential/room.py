"""Cases of preemption that can be carried out on a real API server: plain, and sure to be decided.

What an API server would not take, or would change, is left out: odd values, pods that are leaving
or were promised a node, and pods that started at the same time, where it would be decided by the
order in which they are heard of.
"""

from collections import Counter
from collections.abc import Iterator

from tests.differential.dice import Dice
from tests.differential.features import FEATURES
from tests.differential.generating import make
from tests.differential.oracle import Oracle
from tests.differential.words import Json

NAME = "room"
THEMES = (
    ("priorities",),
    ("priorities", "budgets"),
    ("priorities", "interpod"),
    ("priorities", "spread"),
    ("priorities", "ports"),
    ("priorities", "nodeselector", "taints"),
)
DRAWN = 300
WANTED = 30
WAITING = 5
"""How many of them are cases where nothing helps, or nothing may be done."""


def collect(seed: int, oracle: Oracle) -> Iterator[Json]:
    """The same number of every theme, with and without victims."""
    kept: Counter[tuple[str, ...]] = Counter()
    waiting = 0
    cases = list(_draw(seed))
    answers = oracle.ask([case for _, case in cases])
    for (theme, case), want in zip(cases, answers, strict=True):
        found = want.get("preemption")
        if not found or want.get("preFilter") or kept[theme] >= WANTED // len(THEMES):
            continue
        chosen = found.get("chosen") or []
        if len(chosen) > 1 or (not chosen and waiting >= WAITING):
            continue
        waiting += not chosen
        kept[theme] += 1
        yield {"case": case, "expect": want}


def _draw(seed: int) -> Iterator[tuple[tuple[str, ...], Json]]:
    for number in range(DRAWN):
        theme = THEMES[number % len(THEMES)]
        dice = Dice(f"{NAME}/{seed}/{number}", small=True)
        dice.oddness = 0.0
        features = [name for name in FEATURES if name in theme]
        yield theme, plain(make(dice, f"{NAME}-{number}", features), dice)


def plain(case: Json, dice: Dice) -> Json:
    """The case as an API server takes it; pods have started at times of their own."""
    case["pod"]["status"].pop("nominatedNodeName", None)
    days = dice.some(range(1, 29), len(case["pods"]), len(case["pods"]))
    for number, pod in enumerate(case["pods"]):
        pod["metadata"].pop("deletionTimestamp", None)
        pod["status"].pop("conditions", None)
        pod["status"]["startTime"] = (
            f"2026-01-{days[number % len(days)]:02}T{number // 28:02}:00:00Z"
        )
    return case
