"""The smallest case that still differs in the same way.

Whatever can be left out is tried, the largest parts first: halves of lists, then single items,
fields and labels, over and over until nothing more can go.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.comparing import differences
from tests.differential.judging import Decider
from tests.differential.words import Json

Path = tuple[str | int, ...]
Differs = Callable[[list[Json]], list[bool]]

KEPT = frozenset({("id",), ("pod",), ("nodes",), ("pods",)})
NAMES = frozenset({"name", "namespace", "uid"})
NEVER_EMPTY = (("requests",), ("allocatedResources",))
"""Maps that the API server leaves out when they are empty."""
BATCH = 12
MOST_TRIALS = 4000


def differs_in(kind: tuple[str, str], oracle: Decider, ours: Decider) -> Differs:
    """A test for cases that differ in one field and plugin."""

    def test(cases: list[Json]) -> list[bool]:
        pairs = zip(oracle.ask(cases), ours.ask(cases), strict=True)
        return [any(d.kind == kind for d in differences(want, got)) for want, got in pairs]

    return test


def shrink(case: Json, differs: Differs, most: int = MOST_TRIALS) -> Json:
    """Leave out whatever the difference does not need."""
    trials = 0
    smaller = True
    while smaller and trials < most:
        smaller = False
        for batch in _batches(case):
            made = [candidate for cut in batch if (candidate := without(case, cut)) is not None]
            trials += len(made)
            hit = next((c for c, yes in zip(made, differs(made), strict=True) if yes), None)
            if hit is not None:
                case, smaller = hit, True
                break
    return case


def _batches(case: Json) -> Iterator[list[list[Path]]]:
    cuts = sorted(_cuts(case, ()), key=lambda cut: -sum(_size(at(case, p)) for p in cut))
    for start in range(0, len(cuts), BATCH):
        yield cuts[start : start + BATCH]


def _cuts(value: Any, path: Path) -> Iterator[list[Path]]:
    """Sets of places to leave out: halves and quarters of lists, and every single place."""
    if path and path not in KEPT and not _is_name(path):
        yield [path]
    if isinstance(value, list):
        places: list[Path] = [(*path, index) for index in range(len(value))]
        for share in (2, 4):
            step = len(places) // share
            if step > 1:
                yield from (places[i : i + step] for i in range(0, len(places), step))
    items = value.items() if isinstance(value, dict) else ()
    numbered = enumerate(value) if isinstance(value, list) else ()
    for key, inner in (*items, *numbered):
        yield from _cuts(inner, (*path, key))


def _is_name(path: Path) -> bool:
    """Without its name an object is another object, and its difference another one."""
    return path[-1] == "metadata" or (path[-2:-1] == ("metadata",) and path[-1] in NAMES)


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def without(case: Json, cut: list[Path]) -> Json | None:
    """The case without some places; None where one of them is gone already."""
    made = copy.deepcopy(case)
    for path in sorted(cut, key=_position, reverse=True):
        try:
            holder = at(made, path[:-1])
            del holder[path[-1]]
        except (KeyError, IndexError):
            return None
        if not holder and path[-2:-1] in NEVER_EMPTY:
            return None
    return made


def _position(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (0, step) for step in path)


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1
