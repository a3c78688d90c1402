"""Preemptions that were decided and whose victims are still being evicted.

Victims are evicted while other pods are attempted. Until that is done the preemptor is kept out of
the queue, or it would be attempted again and choose more victims:

    (unknown) --begin--> EVICTING --last--> WAITING FOR ONE --end--> (unknown)

The event of the last victim's deletion may arrive before the call that deleted it returns. So the
preemptor is released as soon as that victim is gone or terminating, and not only at the end.
"""

from collections import Counter
from collections.abc import Callable

WAITING = "waiting for the preemption for this pod to be finished"


class RunningPreemptions:
    """The preemptors that wait for evictions, by uid."""

    __slots__ = ("_awaited", "_last", "_pending")

    def __init__(self) -> None:
        self._pending: dict[str, Callable[[], bool]] = {}
        self._last: dict[str, str] = {}
        self._awaited: Counter[str] = Counter()

    def begin(self, preemptor: str) -> None:
        """Hold a preemptor: its evictions have begun."""
        self._pending[preemptor] = _always

    def last(self, preemptor: str, victim: str, still_there: Callable[[], bool]) -> None:
        """Only one eviction is left: hold the preemptor only while `still_there` returns True."""
        if preemptor in self._pending:
            self._pending[preemptor] = still_there
            self._last[preemptor] = victim
            self._awaited[victim] += 1

    def end(self, preemptor: str) -> None:
        """Release a preemptor: all its evictions are done, or given up."""
        self._pending.pop(preemptor, None)
        victim = self._last.pop(preemptor, None)
        if victim is not None:
            self._awaited[victim] -= 1
            if not self._awaited[victim]:
                del self._awaited[victim]

    def is_last(self, victim: str) -> bool:
        """Whether some preemptor is released when this pod is gone."""
        return victim in self._awaited

    def holds(self, preemptor: str) -> bool:
        pending = self._pending.get(preemptor)
        return pending is not None and pending()

    def __len__(self) -> int:
        return len(self._pending)


def _always() -> bool:
    return True
