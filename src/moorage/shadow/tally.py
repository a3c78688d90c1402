"""Counts of judgements, in bounded memory."""

from collections import Counter, deque
from typing import Final

import msgspec

from moorage.shadow.judgement import Agreement, Judgement

KEPT: Final = 200
"""How many disagreements are kept for inspection."""
MOST_NAMES: Final = 500
"""How many namespaces and schedulers are counted separately; the rest share one line."""
OTHERS: Final = "(others)"
PLACED: Final = (
    Agreement.SAME,
    Agreement.TIED,
    Agreement.WORSE,
    Agreement.REFUSED,
    Agreement.UNPLACED,
)


class Tally:
    """Judgements of one configuration, counted."""

    def __init__(self, configuration: str) -> None:
        self.configuration = configuration
        self.counts: Counter[Agreement] = Counter()
        self.in_flight = 0
        self.given_up = 0
        self.by_plugin: Counter[str] = Counter()
        self.by_scheduler: dict[str, Counter[Agreement]] = {}
        self.by_namespace: dict[str, Counter[Agreement]] = {}
        self.disagreements: deque[Judgement] = deque(maxlen=KEPT)

    def add(self, judged: Judgement) -> None:
        """Count one judgement."""
        self._shift(judged, 1)
        if not judged.agrees:
            self.disagreements.append(judged)

    def replace(self, old: Judgement, new: Judgement) -> None:
        """Replace a judgement by that of a second look."""
        self._shift(old, -1)
        if old in self.disagreements:
            self.disagreements.remove(old)
        self.add(new)

    @property
    def judged(self) -> int:
        """How many decisions were judged."""
        return sum(self.counts.values())

    @property
    def placed(self) -> int:
        """How many of them placed a pod."""
        return sum(self.counts[each] for each in PLACED)

    @property
    def agreeing(self) -> int:
        """How many of the placed pods went to a node that is among the best here."""
        return self.counts[Agreement.SAME] + self.counts[Agreement.TIED]

    def _shift(self, judged: Judgement, by: int) -> None:
        self.counts[judged.agreement] += by
        self.in_flight += by * judged.in_flight
        self.given_up += by * judged.given_up
        for plugin, points in judged.by_plugin.items():
            self.by_plugin[plugin] += by * points
        namespace = judged.pod.partition("/")[0]
        _bounded(self.by_scheduler, judged.scheduler)[judged.agreement] += by
        _bounded(self.by_namespace, namespace)[judged.agreement] += by


def _bounded(counts: dict[str, Counter[Agreement]], name: str) -> Counter[Agreement]:
    if name not in counts and len(counts) >= MOST_NAMES:
        name = OTHERS
    return counts.setdefault(name, Counter())


class TallyData(msgspec.Struct, frozen=True):
    """A tally as plain values."""

    configuration: str
    judged: int
    placed: int
    agreeing: int
    in_flight: int
    given_up: int
    counts: dict[str, int]
    by_plugin: dict[str, int]
    by_scheduler: dict[str, dict[str, int]]
    by_namespace: dict[str, dict[str, int]]
    disagreements: list[Judgement]


def data_of(tally: Tally) -> TallyData:
    """A tally, to be shown."""
    return TallyData(
        tally.configuration,
        tally.judged,
        tally.placed,
        tally.agreeing,
        tally.in_flight,
        tally.given_up,
        _plain(tally.counts),
        {name: points for name, points in tally.by_plugin.most_common() if points},
        {name: _plain(counts) for name, counts in sorted(tally.by_scheduler.items())},
        {name: _plain(counts) for name, counts in sorted(tally.by_namespace.items())},
        list(tally.disagreements),
    )


def _plain(counts: Counter[Agreement]) -> dict[str, int]:
    return {agreement.value: counts[agreement] for agreement in Agreement if counts[agreement]}
