"""The engine says where an attempt is; whoever wants to time it listens.

An attempt that nobody times pays a few calls that do nothing.
"""

from collections.abc import Iterable
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])


class Timer(Protocol):
    """Hears of one attempt; never raises."""

    def step(self, point: str, ended: str = "Success") -> None:
        """An extension point begins, or none does; `ended`: the status of the one before."""

    def each(self, plugins: Iterable[T]) -> Iterable[T]:
        """The plugins about to run, by name, at the point that has begun."""
        ...


class Untimed:
    """Nobody listens."""

    def step(self, point: str, ended: str = "Success") -> None:
        pass

    def each(self, plugins: Iterable[T]) -> Iterable[T]:
        return plugins


UNTIMED: Final = Untimed()
