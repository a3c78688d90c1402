"""The log of a run: the last attempt at each pod, and every error."""

import asyncio
from collections import Counter

from moorage.clock import Clock
from moorage.observe.records import Attempt, Bound, Result


class AttemptLog:
    """An observer of a run.

    `progress` counts the events that cannot repeat for ever: first attempts at a pod, and bound
    pods. `look_again` wakes its caller after every `restless` attempts in a row without progress,
    and after every 10 × `restless` attempts in all. Counting attempts is necessary because all of
    them may be made at the same virtual time.
    """

    def __init__(self, restless: int = 1000) -> None:
        self.last: dict[str, Attempt] = {}
        self.reasons: dict[str, str] = {}
        """The message of the last attempt that had one, by pod uid."""
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
        """Every error once, in the order of first occurrence, with the pods that had it."""
        return [_told(error, pods) for error, pods in self._failures.items()]

    def longest_binding(self, now: float) -> float:
        """The age of the oldest binding that has not ended, in seconds; 0 if there is none."""
        return now - min(self._in_flight.values(), default=now)

    async def look_again(self, clock: Clock, seconds: float) -> None:
        """Return after `seconds`, or earlier when many attempts made no progress (see above)."""
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
    """An error with the first pod that had it, the number of other pods, and its count."""
    others, times = len(pods) - 1, pods.total()
    whose = next(iter(pods)) + (f" and {others} more" if others else "")
    return f"{whose}: {error}" + (f" ({times} times)" if times > 1 else "")
