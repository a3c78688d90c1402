"""Lets a synchronous decision await an extender's answer without blocking the event loop.

`DecisionThread` is for a scheduler that serves a cluster: the decision runs in a thread of its own,
in turns with the event loop. While the decision computes, the loop is blocked, as it is without
extenders. While an extender is asked, the loop sends the request and runs all other tasks. Exactly
one of the two runs at any time, so that neither needs a lock.

`BlockingBridge` is for simulations, in which time and everything else stands still while an
extender is asked. The request is sent by an event loop in a thread of its own.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


class AsyncBridge(Protocol):
    """Lets synchronous code await something."""

    def ask(self, work: Work[T]) -> T:
        """Await the coroutine that `work` makes; return its result, or raise its exception."""
        ...


class LoopClosed(BaseException):
    """Raised in the decision when the event loop ends: its result is no longer needed."""


class BlockingBridge:
    """Blocks until each answer is there."""

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
        """End the loop; `ask` must not be called afterwards."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class DecisionThread:
    """Runs decisions in a thread, one at a time, in turns with the event loop that calls `run`."""

    def __init__(self) -> None:
        self._to_loop: SimpleQueue[None] = SimpleQueue()
        self._to_decision: SimpleQueue[None] = SimpleQueue()
        self._decide: Callable[[], Any] | None = None
        self._asked: Work[Any] | None = None
        self._outcome: Any = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    async def run(self, decide: Callable[[], T]) -> T:
        """Run `decide` in the thread; its result or exception. What it asks is awaited here."""
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
        """Called by a decision: let the loop await this; its result or exception."""
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

        It may start tasks and set events from its thread, because the loop is blocked meanwhile.
        The checks of a loop in debug mode do not allow that, so debug mode is off meanwhile.
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
