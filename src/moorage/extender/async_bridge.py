"""Lets a synchronous decision await an extender's answer without blocking the event loop.

`Turns` is for a scheduler that serves: the decision runs on a thread of its own, and the event loop
and the decision take turns. While the decision computes the loop stands still, as it does where
there are no extenders; while an extender is asked, the loop asks it, and does everything else too.
Exactly one of the two runs at any time, so neither needs a lock.

`Blocking` is for simulations, where time stands still while an extender is asked, and so does all
else. The asking is done by an event loop on a thread of its own.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


class AsyncBridge(Protocol):
    """A way for synchronous code to have something awaited."""

    def ask(self, work: Work[T]) -> T:
        """Await what `work` makes, and return or raise what comes of it."""
        ...


class LoopClosed(BaseException):
    """The event loop ends: nobody waits for the decision any more."""


class BlockingBridge:
    """Waits for each answer, and lets nothing else happen meanwhile."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def ask(self, work: Work[T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="extenders", daemon=True
            )
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def close(self) -> None:
        """End the loop; nothing may be asked after that."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class DecisionThread:
    """Runs decisions in turn with the event loop that calls `run`, one at a time."""

    def __init__(self) -> None:
        self._to_loop: SimpleQueue[None] = SimpleQueue()
        self._to_decision: SimpleQueue[None] = SimpleQueue()
        self._decide: Callable[[], Any] | None = None
        self._asked: Work[Any] | None = None
        self._outcome: Any = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    async def run(self, decide: Callable[[], T]) -> T:
        """What `decide` returns, or raises. What it asks for is awaited here."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="decisions", daemon=True)
            self._thread.start()
        self._decide = decide
        self._hand_over()
        while self._asked is not None:
            await self._answer(self._asked)
            self._hand_over()
        outcome: T = self._settled()
        return outcome

    def ask(self, work: Work[T]) -> T:
        """Called by a decision: let the loop await this, and go on with what comes of it."""
        self._asked = work
        self._to_loop.put(None)
        self._to_decision.get()
        answer: T = self._settled()
        return answer

    def close(self) -> None:
        """End the thread; no decision may be under way."""
        if self._thread is not None:
            self._decide = None
            self._to_decision.put(None)
            self._thread.join()
            self._thread = None

    async def _answer(self, asked: Work[Any]) -> None:
        try:
            self._outcome, self._error = await asked(), None
        except Exception as error:
            self._error = error
        except BaseException as error:
            self._asked, self._error = None, LoopClosed()
            self._hand_over()
            raise error
        self._asked = None

    def _hand_over(self) -> None:
        """Let the decision run until it is done or asks for something.

        It may start tasks and set events: as the loop stands still, another thread may do so. A
        loop in debug mode does not know that, and is not asked.
        """
        loop = asyncio.get_running_loop()
        guarded = loop.get_debug()
        if guarded:
            loop.set_debug(False)
        self._to_decision.put(None)
        self._to_loop.get()
        if guarded:
            loop.set_debug(True)

    def _settled(self) -> Any:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        outcome, self._outcome = self._outcome, None
        return outcome

    def _serve(self) -> None:
        while True:
            self._to_decision.get()
            if self._decide is None:
                return
            try:
                self._outcome, self._error = self._decide(), None
            except BaseException as error:
                self._error = error
            self._to_loop.put(None)
