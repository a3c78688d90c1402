"""The scheduling loop: one attempt after the other, sleep while there is nothing to attempt.

Before each attempt whatever keeps a time is asked what is due. Sleep ends when somebody wakes the
loop, or when the first of those times has come.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moorage.extender.async_bridge import DecisionThread

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


class AttemptGate:
    """Runs attempts, one at a time; without turns to take, an attempt is a plain call."""

    def __init__(self, turns: DecisionThread | None = None) -> None:
        self._turns = turns
        self._under_way = False
        self._put_off: list[Callable[[], None]] = []

    def take_turns(self, turns: DecisionThread | None) -> None:
        """Other extenders are to be asked, or none; not to be called while an attempt is made."""
        self._turns = turns

    async def run(self, attempt: Callable[[], bool]) -> bool:
        """One attempt, and then whatever was put off meanwhile."""
        if self._turns is None:
            return attempt()
        self._under_way = True
        try:
            return await self._turns.run(attempt)
        finally:
            self._under_way = False
            put_off, self._put_off = self._put_off, []
            for work in put_off:
                work()

    def later(self, work: Callable[[], None]) -> None:
        """Do this now, or as soon as the attempt under way is over."""
        if self._under_way:
            self._put_off.append(work)
        else:
            work()


LEASE_LOOK_SECONDS: Final = 0.1
"""How soon to look again whether a lease that has run out was renewed."""


class Loop:
    """Attempts pods while the scheduler is active."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look again."""
        self._wake.set()

    async def settled(self) -> None:
        """Return when no pod is being bound."""
        while self._desk.binding:
            self._wake.clear()
            await self._wake.wait()

    async def run(self) -> None:
        desk = self._desk
        while not desk.synced:
            await self._wake.wait()
            self._wake.clear()
        while True:
            await desk.active.wait()
            if not desk.leads():
                await desk.clock.sleep(LEASE_LOOK_SECONDS)
                continue
            self._tick(desk.clock.now())
            if await desk.deciding.run(desk.schedule_one):
                await asyncio.sleep(0)
            else:
                await self._rest()

    def _tick(self, now: float) -> None:
        """Have done what is due."""
        desk = self._desk
        desk.ganging.tick(now)
        desk.preempting.tick(now)
        desk.quoting.tick(now)
        desk.cooling.tick(now)
        desk.canarying.tick()
        desk.ledger.tick(now)
        desk.ordering.tick(now)

    async def _rest(self) -> None:
        """Sleep until something changes or something is due."""
        self._wake.clear()
        due, alarm = self._next_due(), None
        if due is not None:
            pause = max(0.0, due - self._desk.clock.now())
            alarm = asyncio.ensure_future(self._wake_after(pause))
        try:
            await self._wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    def _next_due(self) -> float | None:
        desk = self._desk
        times = (
            desk.queue.next_wake(desk.clock.now()),
            desk.ganging.alarms.next(),
            desk.preempting.next_wake(),
            desk.quoting.alarms.next(),
            desk.cooling.next_wake(),
            desk.ledger.alarms.next(),
        )
        return min((time for time in times if time is not None), default=None)

    async def _wake_after(self, seconds: float) -> None:
        await self._desk.clock.sleep(seconds)
        self._wake.set()
