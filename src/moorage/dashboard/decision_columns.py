"""When attempts ended, how, and how long they took: columns over the decision records."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from moorage.observe.decision_records import DecisionRecords, Outline

CHUNK: Final = 200
BUCKETS: Final = 300
RATE_SECONDS: Final = 10.0


class DecisionColumns:
    """The last attempts, oldest first: numbers, times, milliseconds, whether a node was found."""

    def __init__(self, records: DecisionRecords, most: int) -> None:
        self._records = records
        self._most = most
        self._taken = 0
        self._numbers = np.zeros(0, dtype=np.int64)
        self._times = np.zeros(0)
        self._ms = np.zeros(0)
        self._placed = np.zeros(0, dtype=bool)

    def steps(self) -> Iterator[int]:
        """Take in what was recorded since, some records at a time; yields how many."""
        chunk: list[Outline] = []
        for outline in self._records.outlines(self._taken):
            chunk.append(outline)
            if len(chunk) >= CHUNK:
                yield self._append(chunk)
                chunk = []
        if chunk:
            yield self._append(chunk)

    def _append(self, chunk: list[Outline]) -> int:
        numbers, times, ms, placed = zip(*chunk, strict=True)
        self._taken = numbers[-1]
        most = self._most
        self._numbers = np.concatenate((self._numbers, np.array(numbers, np.int64)))[-most:]
        self._times = np.concatenate((self._times, np.array(times)))[-most:]
        self._ms = np.concatenate((self._ms, np.array(ms)))[-most:]
        self._placed = np.concatenate((self._placed, np.array(placed, dtype=bool)))[-most:]
        return len(chunk)

    def rates(self, now: float) -> dict[str, float | None]:
        """Attempts per second of the last seconds, and how long the last thousand took."""
        recent = int((self._times > now - RATE_SECONDS).sum())
        last = self._ms[-1000:]
        return {
            "per_s": round(recent / RATE_SECONDS, 1),
            "p50_ms": _quantile(last, 50),
            "p99_ms": _quantile(last, 99),
        }

    def timeline(self, begin: float | None = None, end: float | None = None) -> list[Any]:
        """How many were placed and refused, over time, in at most so many buckets."""
        times = self._times
        if not len(times):
            return []
        begin = float(times.min()) if begin is None else begin
        end = float(times.max()) if end is None else end
        width = max((end - begin) / (BUCKETS - 1), 1e-3)
        inside = (times >= begin) & (times <= end)
        places = ((times[inside] - begin) / width).astype(np.int64)
        return _buckets(places, self._placed[inside], self._ms[inside], begin, width)


def _buckets(
    places: NDArray[np.int64],
    placed: NDArray[np.bool_],
    ms: NDArray[np.float64],
    begin: float,
    width: float,
) -> list[Any]:
    order = np.argsort(places, kind="stable")
    places, placed, ms = places[order], placed[order], ms[order]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    found = []
    for start, end in zip(starts, [*starts[1:], len(places)], strict=True):
        good = int(placed[start:end].sum())
        found.append(
            {
                "at": round(begin + float(places[start]) * width, 3),
                "placed": good,
                "refused": int(end - start) - good,
                "p99_ms": _quantile(ms[start:end], 99),
            }
        )
    return found


def _quantile(values: NDArray[np.float64], percent: float) -> float | None:
    return round(float(np.percentile(values, percent)), 3) if len(values) else None
