"""Time as an interface: wall time in production, virtual time in simulations and tests.

Whoever waits or stamps takes a `Clock`. Virtual time passes in one of two ways:

- by hand: `advance` and `advance_to_next` move it and wake whoever slept until then;
- by itself: under `run_virtual`, time jumps to the next sleeper whenever no task has anything left
  to do, so a day passes in as long as its events take to handle. The event loop's own timers
  (`asyncio.sleep`, `wait_for`, `timeout`) keep that time too; work in threads is waited for.

Sleepers wake in the order of (time, sequence): equal times never race.
"""

import asyncio
import heapq
import itertools
import selectors
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from typing import Any, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Clock(Protocol):
    """The time, and waiting."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds; for 0 or less, only yield to other tasks."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return when that many seconds have passed."""
        await asyncio.sleep(seconds)


class VirtualCall:
    """A call at a time of a virtual clock; it can be cancelled."""

    __slots__ = ("_action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self._action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Cancel the call."""
        self._action = None

    def done(self) -> bool:
        """Whether the call was made or cancelled."""
        return self._action is None

    def set_result(self, _: None) -> None:
        """Make the call: its time has come."""
        action, self._action = self._action, None
        if action is not None:
            action()


class VirtualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._sequence = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None] | VirtualCall]] = []
        self._wakes = self._woke_task = False
        self._afterwards: list[Callable[[], None]] = []

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

    def call_at(self, when: float, action: Callable[[], None]) -> VirtualCall:
        """Call `action` when time has been moved to `when`, in the order of sleepers."""
        call = VirtualCall(action)
        heapq.heappush(self._sleepers, (max(when, self._now), next(self._sequence), call))
        return call

    def next_wake(self) -> float | None:
        """The time of the earliest sleeper or call; None if there is none."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def advance_to_next(self) -> bool:
        """Move to the earliest sleeper and wake all who sleep until then; False: nobody sleeps."""
        when = self.next_wake()
        if when is None:
            return False
        self._now = when
        self._wakes, self._woke_task = True, False
        sleepers = self._sleepers
        while sleepers and sleepers[0][0] == when:
            sleeper = heapq.heappop(sleepers)[2]
            if not sleeper.done():
                self._woke_task = self._woke_task or not isinstance(sleeper, VirtualCall)
                sleeper.set_result(None)
        self._wakes = False
        actions, self._afterwards = self._afterwards, []
        for action in actions:
            action()
        return True

    def afterwards(self, action: Callable[[], None]) -> bool:
        """Call `action` after all sleepers of this time have been woken, before any task runs.

        Returns False, without calling it, if a task was woken already or no sleeper is being woken.
        """
        if not self._wakes or self._woke_task:
            return False
        self._afterwards.append(action)
        return True

    def advance_to(self, when: float) -> None:
        """Move to a time before which nobody is to be woken."""
        self._now = max(self._now, when)

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
    with ExitStack() as closing:
        runner = closing.enter_context(virtual_runner(clock))
        try:
            return runner.run(main)
        except KeyboardInterrupt:
            closing.pop_all()
            _abandon(runner.get_loop())
            raise


def _abandon(loop: asyncio.AbstractEventLoop) -> None:
    """End every task without a word, in a few rounds of callbacks and no virtual time.

    Whoever was interrupted raises it again, and so does each group of tasks around it; asyncio's
    own runner gives up at the first. A task that was interrupted in the midst of being woken waits
    for ever; asyncio's own runner waits with it.
    """
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    for _ in range(_ROUNDS_TO_END):
        if all(task.done() for task in tasks):
            break
        loop.call_soon(loop.stop)
        with suppress(KeyboardInterrupt):
            loop.run_forever()
    for task in tasks:
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio's own
        elif not task.cancelled():
            task.exception()  # or asyncio says that nobody has asked
    loop.close()


def virtual_runner(clock: VirtualClock) -> asyncio.Runner:
    """A runner of such an event loop, for stories told in several parts: tasks live on in between.

    Time passes while a part is told, and stands still until the next.
    """
    return asyncio.Runner(loop_factory=lambda: _VirtualLoop(clock))


_ROUNDS_TO_END = 1000
_GLANCES = 64
"""While no socket is open, how many rounds of callbacks go by between two looks at them."""
_THREAD_SECONDS = 10.0
"""How long, in real time, virtual time stands still for work in threads."""


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers keep virtual time."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._in_threads: set[asyncio.Future[Any]] = set()
        super().__init__(_IdleSelector(clock, self._in_threads, self._pending))
        self._clock_resolution = 1e-6  # seconds since the epoch have no finer steps as floats

    def time(self) -> float:
        return self._clock.now()

    def _pending(self) -> tuple[int, int]:
        """How many callbacks are ready, and how many timers are set."""
        return len(self._ready), len(self._scheduled)  # type: ignore[attr-defined]  # asyncio's own

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        work = super().run_in_executor(executor, func, *args)
        self._in_threads.add(work)
        work.add_done_callback(self._in_threads.discard)
        return work

    async def shutdown_default_executor(self, *args: Any) -> None:
        ending: asyncio.Future[Any] = self.create_future()
        self._in_threads.add(ending)
        await super().shutdown_default_executor(*args)
        self._in_threads.discard(ending)


class _IdleSelector(selectors.DefaultSelector):
    """Moves the clock where the event loop would block: with no callback ready, all tasks wait."""

    def __init__(
        self,
        clock: VirtualClock,
        in_threads: set[asyncio.Future[Any]],
        pending: Callable[[], tuple[int, int]],
    ) -> None:
        super().__init__()
        self._clock = clock
        self._in_threads = in_threads
        self._pending = pending
        self._glances = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        idle = timeout is None or timeout > 0
        if not idle:
            return self._glance(timeout)
        if ready := super().select(_THREAD_SECONDS if self._in_threads else 0):
            return ready
        if self._move_on(timeout):
            return []
        if len(self.get_map()) <= 1:  # the loop's own wake-up socket
            raise RuntimeError(
                "virtual time stands still: every task waits, nobody sleeps on the clock and no "
                "socket is open"
            )
        return super().select(None)

    def _glance(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Look at sockets between two callbacks; where there are none, only once in a while."""
        self._glances += 1
        if self._glances % _GLANCES and not self._in_threads and len(self.get_map()) <= 1:
            return []
        return super().select(timeout)

    def _move_on(self, timeout: float | None) -> bool:
        """Move until there is something else to do than to move; False: nobody sleeps."""
        timer = None if timeout is None else self._clock.now() + timeout
        before = self._pending()
        for moves in range(_GLANCES):
            if not self._move(timer):
                return moves > 0
            if self._clock.now() == timer or self._pending() != before or self._in_threads:
                break
            if len(self.get_map()) > 1:
                break
        return True

    def _move(self, timer: float | None) -> bool:
        """Move to the first sleeper or to the loop's own next timer; False: there is none."""
        sleeper = self._clock.next_wake()
        if timer is not None and (sleeper is None or timer < sleeper):
            self._clock.advance_to(timer)
            return True
        return self._clock.advance_to_next()
