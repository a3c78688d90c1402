"""What the scheduler said during a run: the last attempt at each pod, and what went wrong."""

import asyncio
from collections import Counter

from moorage.clock import Clock
from moorage.observe.records import Attempt, Bound, Result


class AttemptLog:
    """An observer of a run.

    `progress` grows with what cannot go on for ever by itself: pods that were attempted for the
    first time, and pods that were bound. Whoever follows the run is woken after so many attempts
    without any (`restless`): they may all be made at the same virtual time.
    """

    def __init__(self, restless: int = 1000) -> None:
        self.last: dict[str, Attempt] = {}
        self.reasons: dict[str, str] = {}
        """By uid, why the last attempt that was refused was."""
        self.attempts = 0
        self.progress = 0
        self._failures: dict[str, Counter[str]] = {}
        self._in_flight: dict[str, float] = {}
        self._restless = restless
        self._in_vain = 0
        self._look = asyncio.Event()

    def attempted(self, attempt: Attempt) -> None:
        self.attempts += 1
        self._in_vain += 1
        if attempt.uid not in self.last:
            self._progressed()
        elif self._in_vain % self._restless == 0 or self.attempts % (10 * self._restless) == 0:
            self._look.set()
        self.last[attempt.uid] = attempt
        if attempt.message:
            self.reasons[attempt.uid] = attempt.message
        if attempt.result is Result.ERROR:
            self._fail(attempt.pod, attempt.message)
        if attempt.result is Result.SCHEDULED:
            self._in_flight[attempt.uid] = attempt.time
        else:
            self._in_flight.pop(attempt.uid, None)

    def bound(self, bound: Bound) -> None:
        self._progressed()
        self._in_flight.pop(bound.uid, None)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self._fail(pod, str(error))

    @property
    def errors(self) -> list[str]:
        """Every error once, in the order in which they first came, with whom it befell."""
        return [_told(error, pods) for error, pods in self._failures.items()]

    def longest_binding(self, now: float) -> float:
        """For how long the oldest binding has been under way, in seconds."""
        return now - min(self._in_flight.values(), default=now)

    async def look_again(self, clock: Clock, seconds: float) -> None:
        """Return after so many seconds, or as soon as the run is restless."""
        self._look.clear()
        waking = asyncio.ensure_future(clock.sleep(seconds))
        looking = asyncio.ensure_future(self._look.wait())
        try:
            await asyncio.wait({waking, looking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waking.cancel()
            looking.cancel()

    def _fail(self, pod: str, error: str) -> None:
        self._failures.setdefault(error, Counter())[pod] += 1

    def _progressed(self) -> None:
        self.progress += 1
        self._in_vain = 0


def _told(error: str, pods: Counter[str]) -> str:
    """An error with its first pod, how many more there were, and how often it came."""
    others, times = len(pods) - 1, pods.total()
    whose = next(iter(pods)) + (f" and {others} more" if others else "")
    return f"{whose}: {error}" + (f" ({times} times)" if times > 1 else "")
