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
TOGETHER: Final = ("succession", "overtaken")
"""Faults that come together: one hears nothing and the other dies; one sleeps and is overtaken."""
FAULTS: Final = (*WINDOWS, *MOMENTS, *TOGETHER, *TOGETHER, "lossy", "lossy", "stale")
SECONDS: Final = (0.2, 1.0, 4.0, 12.0, 20.0)


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
    """A story of so many steps."""
    rng = random.Random(seed)
    return Story(seed, tuple(_step(rng, number) for number in range(steps)))


def _step(rng: random.Random, number: int) -> Step:
    if rng.random() < 0.65:
        (kind,) = rng.choices(tuple(CHURN), tuple(CHURN.values()))
    else:
        kind = rng.choice(FAULTS)
    pause = rng.choice((0.0, 0.005, 0.05, 0.4, 2.0))
    seconds = rng.choice(SECONDS) if kind in WINDOWS else 0.0
    return Step(kind, pause, rng.randrange(1 << 16), seconds, number)
