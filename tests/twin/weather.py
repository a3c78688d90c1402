"""What is wrong between one replica and the API server, and with the server's disk."""

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeVar

from moorage.clock import Clock

LAGGING: Final = ("pods", "nodes", "podgroups", "elasticquotas", "poddisruptionbudgets")
"""Resources whose watch may be held up alone, so that others overtake it."""


T = TypeVar("T")


class Dice:
    """Throws that depend on when they are made, and not on how many were made before.

    So a story that leaves out a step goes on as it did wherever the step was without effect.
    """

    def __init__(self, clock: Clock, seed: int) -> None:
        self._clock = clock
        self._seed = seed
        self._at = 0.0
        self._thrown = 0

    def throw(self, about: str) -> float:
        """A number from 0 to 1."""
        now = self._clock.now()
        if now != self._at:
            self._at, self._thrown = now, 0
        self._thrown += 1
        return zlib.crc32(f"{self._seed}/{about}/{now:.6f}/{self._thrown}".encode()) / (1 << 32)

    def choice(self, about: str, options: Sequence[T]) -> T:
        return options[int(self.throw(about) * len(options))]


class Disk:
    """The one disk below the API server: writes reach it in order, and are stored in that order."""

    def __init__(self, clock: Clock, seed: int) -> None:
        self._clock = clock
        self._dice = Dice(clock, seed)
        self._slow_until = 0.0
        self._free_at = 0.0
        self.struck = 0

    def slow_down(self, seconds: float) -> None:
        self._slow_until = max(self._slow_until, self._clock.now() + seconds)

    def recover(self) -> None:
        self._slow_until = 0.0

    async def store(self) -> None:
        """Return when a write that comes now is stored."""
        now = self._clock.now()
        if now >= self._slow_until and now >= self._free_at:
            return
        self.struck += 1
        self._free_at = max(now, self._free_at) + self._dice.choice("disk", (0.01, 0.1, 0.6))
        await self._clock.sleep(self._free_at - now)


class Weather:
    """What is wrong for one replica, and until when.

    `struck` counts the faults that had an effect, by kind.
    """

    def __init__(self, clock: Clock, seed: int, disk: Disk) -> None:
        self._clock = clock
        self.dice = Dice(clock, seed)
        self.disk = disk
        self._until: dict[str, float] = {}
        self.struck: Counter[str] = Counter()
        self.tears = 0
        self.expirations = 0

    def begin(self, kind: str, seconds: float) -> None:
        self._until[kind] = max(self._until.get(kind, 0.0), self._clock.now() + seconds)

    def clear(self) -> None:
        self._until.clear()

    def is_on(self, kind: str) -> bool:
        until = self._until.get(kind)
        return until is not None and until > self._clock.now()

    def strikes(self, kind: str, odds: float) -> bool:
        """Whether a fault of a kind that is on has an effect now."""
        if not self.is_on(kind) or self.dice.throw(kind) >= odds:
            return False
        self.struck[kind] += 1
        return True

    async def pass_by(self, kind: str) -> None:
        """Return when a fault of this kind is over."""
        while self.is_on(kind):
            self.struck[kind.partition("/")[0]] += 1
            await self._clock.sleep(self._until[kind] - self._clock.now())
