"""Curves over time: a state looked at again and again, at most so many times in all."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Samples(Generic[T]):
    """What was seen, and when. When there is too much of it, every other point goes."""

    def __init__(self, start: float, seconds: float, most: int) -> None:
        self.points: list[tuple[float, T]] = []
        self._start = start
        self._step = seconds
        self._most = max(most, 2)
        self._count = 0

    @property
    def due(self) -> float:
        """When to look next."""
        return self._start + self._count * self._step

    def add(self, value: T) -> None:
        """What is seen at the time that was due."""
        self.points.append((self.due, value))
        self._count += 1
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._step *= 2
            self._count = len(self.points)

    def skip_to(self, now: float, value: T) -> None:
        """Look as often as was due before now, at what has not changed since."""
        while self.due < now:
            self.add(value)

    def end(self, now: float, value: T) -> None:
        """Look once more, whatever is due."""
        self.points.append((now, value))
