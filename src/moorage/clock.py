"""Time as an interface: wall time in production, virtual time in simulations and tests.

Whoever waits or stamps takes a `Clock`. Virtual time passes in one of two ways:

- by hand: `advance` and `advance_to_next` move it and wake whoever slept until then;
- by itself: under `run_virtual`, time jumps to the next sleeper whenever no task has anything left
  to do, so a day passes in as long as its events take to handle.

Sleepers wake in the order of (time, sequence): equal times never race.
"""

import asyncio
import heapq
import itertools
import selectors
import time
from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """What tells the time and lets it pass."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when that many seconds have passed; at once, yielding, when none have to."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return when that many seconds have passed."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._sequence = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Return when time has been moved that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._sequence), wake))
        await wake

    def next_wake(self) -> float | None:
        """The time of the earliest sleeper, or None where nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def advance_to_next(self) -> bool:
        """Move to the earliest sleeper and wake all who sleep until then; False: nobody sleeps."""
        when = self.next_wake()
        if when is None:
            return False
        self._now = when
        while self.next_wake() == when:
            heapq.heappop(self._sleepers)[2].set_result(None)
        return True

    def advance(self, seconds: float) -> None:
        """Move by that many seconds and wake, in order, everyone who sleeps until then.

        Who wakes runs when the event loop gets to it, and then reads the time moved to. Where each
        sleeper must see its own time, use `run_virtual`.
        """
        target = self._now + seconds
        while (when := self.next_wake()) is not None and when <= target:
            self.advance_to_next()
        self._now = target


async def within(clock: Clock, seconds: float, asking: Awaitable[T]) -> T:
    """An answer that comes within so many seconds; later ones are a TimeoutError."""
    answer = asyncio.ensure_future(asking)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({answer, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise TimeoutError(f"no answer within {seconds:g} s")
        return answer.result()
    finally:
        answer.cancel()
        timer.cancel()


def run_virtual(main: Coroutine[Any, Any, T], clock: VirtualClock) -> T:
    """Run `main` on a new event loop where `clock` moves by itself when every task waits."""
    with virtual_runner(clock) as runner:
        return runner.run(main)


def virtual_runner(clock: VirtualClock) -> asyncio.Runner:
    """A runner of such an event loop, for stories told in several parts: tasks live on in between.

    Time passes while a part is told, and stands still until the next.
    """
    return asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(_IdleSelector(clock)),
    )


class _IdleSelector(selectors.DefaultSelector):
    """Moves the clock where the event loop would block: with no callback ready, all tasks wait."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        idle = timeout is None or timeout > 0
        if not idle:
            return super().select(timeout)
        if ready := super().select(0):
            return ready
        if self._clock.advance_to_next():
            return []
        if timeout is None and len(self.get_map()) <= 1:  # the loop's own wake-up socket
            raise RuntimeError(
                "virtual time stands still: every task waits, nobody sleeps on the clock and no "
                "socket is open"
            )
        return super().select(timeout)
