"""Which fault when: drawn from the seed, so that a run can be made again."""

import random
from typing import Final, Literal, NamedTuple

Target = Literal["leader", "standby", "both", "server"]

OF_A_REPLICA: Final = ("kill", "kill", "stop", "stop", "terminate")
OF_A_LINE: Final = (
    *("lose-replies", "lose-replies", "lose-replies", "lose-replies", "lose-requests"),
    *("stall", "tear"),
    *("401", "429", "503", "deaf"),
)
OF_THE_SERVER: Final = ("restart-api-server", "compact", "pause-etcd", "steal-lease")
WINDOW_SECONDS: Final = (0.8, 3.5)
LOSS_SECONDS: Final = (3.0, 6.0)
STOP_SECONDS: Final = (1.0, 7.0)
PAUSE_SECONDS: Final = (0.5, 2.0)
BETWEEN_SECONDS: Final = (1.0, 4.0)


class Fault(NamedTuple):
    """What is done, at which second of the run, to whom, for how long."""

    at: float
    kind: str
    to: Target
    seconds: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.at:6.1f} s  {self.kind} {self.to}{lasts}"


def plan(rng: random.Random, seconds: float) -> list[Fault]:
    """The faults of a run that goes on for so long."""
    found, at = [], 2.0
    while at < seconds:
        found.append(_draw(rng, at))
        at += rng.uniform(*BETWEEN_SECONDS)
    return found


def _draw(rng: random.Random, at: float) -> Fault:
    sort = rng.choices(("line", "replica", "server"), (7, 2, 1))[0]
    if sort == "server":
        return Fault(at, rng.choice(OF_THE_SERVER), "server", rng.uniform(*PAUSE_SECONDS))
    targets: tuple[Target, ...] = ("leader", "standby", "both")
    to = rng.choices(targets, (6, 2, 1))[0]
    if sort == "replica":
        kind = rng.choice(OF_A_REPLICA)
        return Fault(at, kind, to, rng.uniform(*STOP_SECONDS) if kind == "stop" else 0.5)
    kind = rng.choice(OF_A_LINE)
    if kind == "lose-replies":
        return Fault(at, kind, "both", rng.uniform(*LOSS_SECONDS))
    return Fault(at, kind, to, rng.uniform(*WINDOW_SECONDS))
