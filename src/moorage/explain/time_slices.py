"""Work that takes turns with the event loop: a few milliseconds at a time, on a thread of its own.

Exactly one of the two runs at any time, so neither needs a lock. The work calls `pause` wherever it
may be interrupted. Between two slices the cluster may change.
"""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
Pause = Callable[[], None]

SLICE_SECONDS: Final = 0.004


def no_pause() -> None:
    """Go on at once."""


class Abandoned(BaseException):
    """Raised inside the work when nobody waits for its result any more."""


class SlicedWork(Generic[T]):
    """One piece of work; it is interrupted only where `may_pause` returns True."""

    def __init__(
        self,
        work: Callable[[Pause], T],
        may_pause: Callable[[], bool],
        seconds: float = SLICE_SECONDS,
    ) -> None:
        self._work = work
        self._may_pause = may_pause
        self._seconds = seconds
        self._until = 0.0
        self._to_work: SimpleQueue[bool] = SimpleQueue()
        self._to_loop: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._outcome: Any = None
        self._error: BaseException | None = None
        self.is_done = False

    def run_slice(self) -> bool:
        """Run the work until its slice is over or it is done; True if it is done."""
        if self.is_done:  # abandoned, while the slice waited for its turn
            return True
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="explain", daemon=True)
            self._thread.start()
        self._to_work.put(True)
        self._to_loop.get()
        return self.is_done

    def abandon(self) -> None:
        """End the work at its current `pause`; no slice runs any more."""
        if self._thread is None:
            self.is_done = True
        elif not self.is_done:
            self._to_work.put(False)
            self._to_loop.get()

    def result(self) -> T:
        """The result of the work, or its error; call it only once the work is done."""
        if self._error is not None:
            raise self._error
        outcome: T = self._outcome
        return outcome

    def _pause(self) -> None:
        if time.perf_counter() < self._until or not self._may_pause():
            return
        self._to_loop.put(None)
        self._await_turn()

    def _await_turn(self) -> None:
        if not self._to_work.get():
            raise Abandoned
        self._until = time.perf_counter() + self._seconds

    def _serve(self) -> None:
        try:
            self._await_turn()
            self._outcome = self._work(self._pause)
        except BaseException as error:
            self._error = error
        self.is_done = True
        self._to_loop.put(None)
