"""`python -m tests.differential.saving`: small cases worth keeping, with kube-scheduler's outcome.

For every feature cases are drawn until enough of them have shown something that no kept case of
that feature had shown before; where little is new, some are kept that show much. What chance
decides, and what is different on purpose, is left out.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from tests.differential import deliberate, room
from tests.differential.comparing import differences
from tests.differential.dice import Dice
from tests.differential.facts import facts
from tests.differential.features import FEATURES
from tests.differential.generating import THEMES, make
from tests.differential.oracle import Oracle
from tests.differential.words import Json

DRAWN = 150
WANTED = 18
LEAST = 9
REPEATS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with Oracle() as oracle:
        for feature in FEATURES:
            save(options.out, feature, list(collect(feature, options.seed, oracle)))
        save(options.out, room.NAME, list(room.collect(options.seed, oracle)))


def collect(feature: str, seed: int, oracle: Oracle) -> Iterator[Json]:
    """Cases of a feature: those with a new fact, then those with the most facts."""
    seen: set[str] = set()
    rows = list(_certain(feature, seed, oracle))
    rest = []
    kept = 0
    for row in rows:
        new = facts(row["expect"]) - seen
        if new and kept < WANTED:
            seen |= new
            kept += 1
            yield row
        else:
            rest.append(row)
    rest.sort(key=lambda row: -len(facts(row["expect"])))
    yield from rest[: max(LEAST - kept, 0)]


def _certain(feature: str, seed: int, oracle: Oracle) -> Iterator[Json]:
    cases = [draw(feature, seed, number) for number in range(DRAWN)]
    for case, want in zip(cases, oracle.ask(cases), strict=True):
        if is_certain(case, want, oracle):
            yield {"case": case, "expect": want}


def draw(feature: str, seed: int, number: int) -> Json:
    """A small case with the feature, alone or with those it meets in a rule."""
    dice = Dice(f"{feature}/{seed}/{number}", small=True)
    meets = [theme for theme in THEMES if feature in theme]
    theme = set(dice.pick(meets)) if meets and dice.chance(0.6) else {feature}
    return make(dice, f"{feature}-{number}", [name for name in FEATURES if name in theme])


def is_certain(case: Json, want: Json, oracle: Oracle) -> bool:
    """Whether kube-scheduler says the same again, and Moorage means to."""
    if deliberate.why(case, want, {}) is not None:
        return False
    return not any(differences(want, other) for other in oracle.ask([case] * REPEATS))


def save(folder: Path, name: str, kept: list[Json]) -> None:
    path = folder / f"{name}.jsonl.gz"
    write(path, kept)
    print(f"{path.name:24} {len(kept):3} cases, {path.stat().st_size} bytes")


def write(path: Path, kept: list[Json]) -> None:
    """One case a line; the same cases always make the same file."""
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept)
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
