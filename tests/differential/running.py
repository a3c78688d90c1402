"""Chunks of cases, both sides at once, and the tally of what came out."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.differential.facts import facts
from tests.differential.generating import generate
from tests.differential.judging import Judgement, Verdict, judge
from tests.differential.oracle import Oracle
from tests.differential.ours import Ours
from tests.differential.words import Json

CHUNK = 200
ORACLE_LIFE = 5000

Chunk = list[tuple[Json, list[str]]]
Kind = tuple[str, str]


class Tally:
    """Counts, and a few differing cases of every kind."""

    def __init__(self, examples: int) -> None:
        self.verdicts: Counter[Verdict] = Counter()
        self.features: Counter[str] = Counter()
        self.differing: Counter[str] = Counter()
        self.kinds: Counter[Kind] = Counter()
        self.facts: Counter[str] = Counter()
        self.wavering: list[str] = []
        self.kept: list[tuple[Judgement, Kind]] = []
        self._examples = examples
        self._kept: Counter[Kind] = Counter()

    def add(self, judgement: Judgement, features: Sequence[str]) -> None:
        self.verdicts[judgement.verdict] += 1
        if judgement.verdict is Verdict.CHANCE:
            self.wavering.append(str(judgement.case["id"]))
        self.features.update(features)
        if judgement.verdict is Verdict.DIFFERS:
            self._add_difference(judgement, features)

    def _add_difference(self, judgement: Judgement, features: Sequence[str]) -> None:
        self.differing.update(features)
        self.kinds.update(judgement.kinds)
        new = sorted(kind for kind in judgement.kinds if self._kept[kind] < self._examples)
        if new:
            self._kept[new[0]] += 1
            self.kept.append((judgement, new[0]))


def chunks(seed: int, numbers: range, among: Sequence[str], small: bool) -> Iterator[Chunk]:
    for start in range(numbers.start, numbers.stop, CHUNK):
        some = range(start, min(start + CHUNK, numbers.stop))
        yield [generate(seed, number, among, small) for number in some]


def run(
    drawn: Iterator[Chunk],
    oracle: Oracle,
    ours: Ours,
    tally: Tally,
    progress: Callable[[int], None],
) -> None:
    """Judge every case. Chunks are dropped once they are judged."""
    done = 0
    with ThreadPoolExecutor(1) as pool:
        for chunk in drawn:
            cases = [case for case, _ in chunk]
            asked = pool.submit(oracle.ask, cases)
            got = ours.ask(cases)
            for (case, features), want, have in zip(chunk, asked.result(), got, strict=True):
                tally.facts.update(facts(want))
                tally.add(judge(case, want, have, oracle), features)
            done += len(chunk)
            progress(done)
            if oracle.asked > ORACLE_LIFE:
                oracle.renew()
                oracle.asked = 0
