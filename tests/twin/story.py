"""Stories: what happens to a cluster and to the replicas on it, step by step."""

import random
from typing import Final, NamedTuple

CHURN: Final = {
    "pod": 7,
    "urgent": 2,
    "apart": 2,
    "spread": 2,
    "tenant": 2,
    "gang": 2,
    "part": 1,
    "delete": 4,
    "end": 6,
    "touch": 1,
    "reject": 0.5,
    "node": 0.6,
    "cordon": 0.8,
    "drop": 0.4,
}
"""What users, kubelets and administrators do, and how often: the cluster is full mostly."""
WINDOWS: Final = ("freeze", "cut", "lossy", "slow", "refuse", "stale", "deaf", "lag", "disk")
"""Faults that last."""
MOMENTS: Final = ("kill", "tear", "expire", "partial", "jump", "clock", "steal")
TOGETHER: Final = ("succession", "overtaken", "rush")
"""Faults that come together: with the leader gone, asleep, or slow while others hurry."""
FAULTS: Final = (*WINDOWS, *MOMENTS, *TOGETHER, *TOGETHER, "lossy", "lossy", "stale")
FAULT_ODDS: Final = (0.15, 0.3, 0.45)
SECONDS: Final = (0.2, 1.0, 4.0, 12.0, 20.0)
PAUSES: Final = (0.0, 0.005, 0.05, 0.4, 2.0)
PAUSES_AFTER: Final = (0.05, 2.0, 12.0)
"""What comes together takes its time."""


class Step(NamedTuple):
    """After `pause` seconds something happens: to `target`, for `seconds` where it lasts."""

    kind: str
    pause: float
    target: int
    seconds: float = 0.0
    number: int = 0


class Story(NamedTuple):
    """A seed for every throw of the dice, and the steps."""

    seed: int
    steps: tuple[Step, ...]


def draw(seed: int, steps: int) -> Story:
    """A story of so many steps, in some of which more goes wrong than in others."""
    rng = random.Random(seed)
    odds, drawn = rng.choice(FAULT_ODDS), list[Step]()
    for number in range(steps):
        after = drawn[-1].kind if drawn else ""
        drawn.append(_step(rng, number, odds, PAUSES_AFTER if after in TOGETHER else PAUSES))
    return Story(seed, tuple(drawn))


def _step(rng: random.Random, number: int, odds: float, pauses: tuple[float, ...]) -> Step:
    if rng.random() < odds:
        kind = rng.choice(FAULTS)
    else:
        (kind,) = rng.choices(tuple(CHURN), tuple(CHURN.values()))
    pause = rng.choice(pauses)
    seconds = rng.choice(SECONDS) if kind in WINDOWS else 0.0
    return Step(kind, pause, rng.randrange(1 << 16), seconds, number)
