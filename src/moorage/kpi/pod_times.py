"""Waiting and completion of pods, by class, tenant and priority."""

from array import array
from collections.abc import Callable, Iterable
from itertools import chain

import msgspec

from moorage.kpi.quantiles import Quantiles, quantiles


class PodKind(msgspec.Struct, frozen=True):
    """The features by which pods are grouped."""

    tenant: str
    priority: int
    cls: str
    workload: str = ""


class TimesSummary(msgspec.Struct, frozen=True):
    """The times of the pods of one class, tenant or priority."""

    pods: int
    never_placed: int
    wait_s: Quantiles
    completion_s: Quantiles


class _Times:
    """The pods of one kind; eight bytes per placed pod, and eight per completed pod."""

    __slots__ = ("completions", "pods", "waits")

    def __init__(self) -> None:
        self.pods = 0
        self.waits = array("d")
        self.completions = array("d")


class PodTimes:
    """The times of every pod."""

    def __init__(self) -> None:
        self._kinds: dict[PodKind, _Times] = {}

    def arrived(self, kind: PodKind) -> None:
        """A pod arrived."""
        times = self._kinds.get(kind)
        if times is None:
            times = self._kinds[kind] = _Times()
        times.pods += 1

    def placed(self, kind: PodKind, wait: float) -> None:
        """A pod got a node for the first time, after waiting so long."""
        self._kinds[kind].waits.append(wait)

    def completed(self, kind: PodKind, seconds: float) -> None:
        """A pod completed its work, so long after its arrival."""
        self._kinds[kind].completions.append(seconds)

    @property
    def pods(self) -> int:
        """How many pods arrived."""
        return sum(times.pods for times in self._kinds.values())

    @property
    def finished(self) -> int:
        """How many pods completed."""
        return sum(len(times.completions) for times in self._kinds.values())

    def waits(self) -> list[float]:
        """Every wait, in no particular order."""
        return list(chain.from_iterable(times.waits for times in self._kinds.values()))

    def within(self, seconds: float) -> int:
        """How many pods waited no longer than that."""
        return sum(wait <= seconds for times in self._kinds.values() for wait in times.waits)

    def summary(self) -> TimesSummary:
        """All pods together."""
        return _summary(self._kinds.values())

    def by(self, feature: Callable[[PodKind], str]) -> dict[str, TimesSummary]:
        """The pods grouped by one feature, in the order of its values."""
        found: dict[str, list[_Times]] = {}
        for kind, times in self._kinds.items():
            found.setdefault(feature(kind), []).append(times)
        return {name: _summary(found[name]) for name in sorted(found)}


def _summary(kinds: Iterable[_Times]) -> TimesSummary:
    listed = list(kinds)
    pods = sum(times.pods for times in listed)
    placed = sum(len(times.waits) for times in listed)
    return TimesSummary(
        pods,
        pods - placed,
        quantiles(chain.from_iterable(times.waits for times in listed)),
        quantiles(chain.from_iterable(times.completions for times in listed)),
    )
