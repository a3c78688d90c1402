"""The scheduling loop: bursts of attempts, sleep while there is nothing to attempt.

Before each attempt the features' `tick` does what is due. After a burst of attempts (`bursts`) the
event loop runs other tasks. Sleep ends when the loop is woken, or at the earliest time at which the
queue or a feature has something to do.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from moorage.clock import Clock
from moorage.extender.async_bridge import DecisionThread
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.bursts import Bursts
from moorage.scheduler.feature import Features


class AttemptGate:
    """Runs attempts, one at a time: in the decision thread, or without one as a plain call."""

    def __init__(self, turns: DecisionThread | None = None) -> None:
        self._turns = turns
        self._under_way = False
        self._put_off: list[Callable[[], None]] = []

    def take_turns(self, turns: DecisionThread | None) -> None:
        """Run attempts in this thread, or in none, from now on; not to be called in an attempt."""
        self._turns = turns

    async def run(self, attempt: Callable[[], bool]) -> bool:
        """Run one attempt, and then the work that was postponed meanwhile."""
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
        """Do this now or, if an attempt is under way, right after it."""
        if self._under_way:
            self._put_off.append(work)
        else:
            work()


LEASE_LOOK_SECONDS: Final = 0.1
"""How soon to check again whether a lease that has expired was renewed."""


class Loop:
    """Makes attempts, and calls the features' `tick` before each.

    `active` is set while attempts may be made. `leads` is asked before each attempt as well: a
    process that was suspended while its lease expired must not attempt pods. `woken` ends sleep.
    """

    def __init__(
        self,
        attempt: Callable[[], bool],
        gate: AttemptGate,
        queue: SchedulingQueue,
        clock: Clock,
        features: Features,
        *,
        active: asyncio.Event,
        woken: asyncio.Event,
        leads: Callable[[], bool],
        bursts: Bursts,
    ) -> None:
        self._attempt = attempt
        self._gate = gate
        self._queue = queue
        self._clock = clock
        self._features = features
        self._active = active
        self._woken = woken
        self._leads = leads
        self._bursts = bursts
        self._alarm: asyncio.Future[None] | None = None
        self._alarm_due = 0.0

    async def until(self, check: Callable[[], bool]) -> None:
        """Return when `check` is true; it is called again whenever the loop is woken."""
        while not check():
            self._woken.clear()
            await self._woken.wait()

    async def run(self, synced: Callable[[], bool]) -> None:
        """Attempt pods for ever, once everything is known."""
        await self.until(synced)
        try:
            await self._run()
        finally:
            if self._alarm is not None:
                self._alarm.cancel()

    async def _run(self) -> None:
        self._bursts.begin()
        while True:
            await self._active.wait()
            if not self._leads():
                await self._clock.sleep(LEASE_LOOK_SECONDS)
                continue
            now = self._clock.now()
            for tick in self._features.tick:
                tick(now)
            if not await self._gate.run(self._attempt):
                await self._rest()
                self._bursts.begin()
            elif self._bursts.is_over():
                await self._clock.sleep(self._bursts.rest())
                self._bursts.begin()

    async def _rest(self) -> None:
        """Sleep until something changes or is due, and then for `Bursts.pause`, to gather pods."""
        self._woken.clear()
        due = self._next_due()
        if due is not None:
            self._set_alarm(due)
        await self._woken.wait()
        pause = self._bursts.pause()
        if pause:
            await self._clock.sleep(pause)

    def _set_alarm(self, due: float) -> None:
        """Wake the loop at `due`; an alarm that rings earlier stays, and the loop looks again."""
        if self._alarm is not None and not self._alarm.done():
            if self._alarm_due <= due:
                return
            self._alarm.cancel()
        self._alarm_due = due
        pause = max(0.0, due - self._clock.now())
        self._alarm = asyncio.ensure_future(self._wake_after(pause))

    def _next_due(self) -> float | None:
        times = [self._queue.next_wake(self._clock.now())]
        times += [next_due() for next_due in self._features.next_due]
        return min((time for time in times if time is not None), default=None)

    async def _wake_after(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._woken.set()
