"""What a comparison comes to."""

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tests.differential import deliberate
from tests.differential.comparing import Difference, differences
from tests.differential.words import Json

REPEATS = 12
CONSEQUENCES = frozenset({"totals", "best", "feasible", "message"})


class Decider(Protocol):
    """Whoever decides cases."""

    def ask(self, cases: Sequence[Json]) -> list[Json]: ...


class Verdict(enum.Enum):
    """How one case came out."""

    SAME = "same"
    BOTH_FAIL = "an error on both sides"
    DELIBERATE = "different on purpose"
    ONE_OF_SEVERAL = "one of several answers that kube-scheduler gives"
    CHANCE = "kube-scheduler itself decides differently from run to run"
    DIFFERS = "differs"


class Judgement(NamedTuple):
    """A case, its verdict, and in what it differs."""

    case: Json
    verdict: Verdict
    differences: list[Difference]

    @property
    def kinds(self) -> set[tuple[str, str]]:
        """What differs; what merely follows from something else is left out where it can be."""
        every = {difference.kind for difference in self.differences}
        return {kind for kind in every if kind[0] not in CONSEQUENCES} or every


def judge(case: Json, want: Json, got: Json, oracle: Decider) -> Judgement:
    """Compare, and where there is a difference make sure that it is none of chance."""
    found = differences(want, got)
    if not found:
        failed = Verdict.BOTH_FAIL if want.get("error") else Verdict.SAME
        return Judgement(case, failed, [])
    if deliberate.why(case, want, got) is not None:
        return Judgement(case, Verdict.DELIBERATE, [])
    again = oracle.ask([case] * REPEATS)
    if any(differences(want, other) for other in again):
        seen = any(not differences(other, got) for other in again)
        return Judgement(case, Verdict.ONE_OF_SEVERAL if seen else Verdict.CHANCE, found)
    return Judgement(case, Verdict.DIFFERS, found)
