"""Curves over time: a state sampled at equal intervals, at most so many times in all."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Samples(Generic[T]):
    """Samples with their times. When there are too many, every other one is dropped."""

    def __init__(self, start: float, seconds: float, most: int) -> None:
        self.points: list[tuple[float, T]] = []
        self._start = start
        self._step = seconds
        self._most = max(most, 2)
        self._count = 0

    @property
    def due(self) -> float:
        """The time of the next sample."""
        return self._start + self._count * self._step

    def add(self, value: T) -> None:
        """Add a sample for the time that was due."""
        self.points.append((self.due, value))
        self._count += 1
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._step *= 2
            self._count = len(self.points)

    def skip_to(self, now: float, value: T) -> None:
        """Add the samples that were due before `now`, of a state that has not changed since."""
        while self.due < now:
            self.add(value)

    def end(self, now: float, value: T) -> None:
        """Add one more sample at `now`, due or not."""
        self.points.append((now, value))
