"""Times, results and durations of attempts: columns over the decision records."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from moorage.observe.decision_records import DecisionRecords

BUCKETS: Final = 300
RATE_SECONDS: Final = 10.0
_MOST_MICROS: Final = 1 << 40


class DecisionColumns:
    """The last attempts, oldest first: times, milliseconds, whether a node was found."""

    def __init__(self, records: DecisionRecords, most: int) -> None:
        self._records = records
        self._most = most
        self._taken = 0
        self._times = np.zeros(0)
        self._ms = np.zeros(0)
        self._placed = np.zeros(0, dtype=bool)

    def catch_up(self) -> None:
        """Read the records added since the last call."""
        found = self._records.outlines(self._taken)
        if not len(found.numbers):
            return
        self._taken, most = int(found.numbers[-1]), self._most
        self._times = np.concatenate((self._times, found.times))[-most:]
        self._ms = np.concatenate((self._ms, found.ms))[-most:]
        self._placed = np.concatenate((self._placed, found.placed))[-most:]

    def rates(self, now: float) -> dict[str, float | None]:
        """Attempts per second over the last seconds, and durations of the last thousand."""
        recent = int((self._times > now - RATE_SECONDS).sum())
        p50, p99 = quantiles(self._ms[-1000:], 0.5, 0.99)
        return {"per_s": round(recent / RATE_SECONDS, 1), "p50_ms": p50, "p99_ms": p99}

    def timeline(self, begin: float | None = None, end: float | None = None) -> list[Any]:
        """Numbers of placed and refused attempts over time, in a limited number of buckets."""
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
    """The buckets that hold any attempt; one sort for all, because a quantile of each is slow."""
    keys = np.sort(places * _MOST_MICROS + (ms * 1000).astype(np.int64).clip(0, _MOST_MICROS - 1))
    bucket, starts, sizes = np.unique(keys // _MOST_MICROS, return_index=True, return_counts=True)
    late = keys[starts + np.ceil((sizes - 1) * 0.99).astype(np.int64)] % _MOST_MICROS / 1000
    good = np.bincount(places, weights=placed, minlength=BUCKETS)[bucket].astype(np.int64)
    return [
        {"at": round(at, 3), "placed": kept, "refused": size - kept, "p99_ms": p99}
        for at, kept, size, p99 in zip(
            (begin + bucket * width).tolist(),
            good.tolist(),
            sizes.tolist(),
            late.tolist(),
            strict=True,
        )
    ]


def quantiles(values: Sequence[float] | NDArray[np.float64], *parts: float) -> list[float | None]:
    """Quantiles that are values themselves: the smallest that is not below each rank."""
    if not len(values):
        return [None] * len(parts)
    ordered = np.sort(values)
    return [round(float(ordered[ceil((len(ordered) - 1) * part)]), 3) for part in parts]
