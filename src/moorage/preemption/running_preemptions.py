"""Preemptions that were decided and whose victims are still being evicted.

The edge evicts while other pods are attempted. Until it is done the preemptor is kept out of the
queue, or it would be attempted again and choose more victims:

    (unknown) --begin--> EVICTING --last--> WAITING FOR ONE --end--> (unknown)

The queue may hear of the last victim's deletion before the edge hears that its own call returned.
So the preemptor is let go as soon as that victim is gone or going, and not only at the end.
"""

from collections import Counter
from collections.abc import Callable

WAITING = "waiting for the preemption for this pod to be finished"


class RunningPreemptions:
    """Who is waiting for which evictions, by the preemptor's uid."""

    __slots__ = ("_awaited", "_last", "_pending")

    def __init__(self) -> None:
        self._pending: dict[str, Callable[[], bool]] = {}
        self._last: dict[str, str] = {}
        self._awaited: Counter[str] = Counter()

    def begin(self, preemptor: str) -> None:
        """Evictions have begun: the preemptor is held."""
        self._pending[preemptor] = _always

    def last(self, preemptor: str, victim: str, still_there: Callable[[], bool]) -> None:
        """Only one eviction is left: the preemptor is held while that victim is there."""
        if preemptor in self._pending:
            self._pending[preemptor] = still_there
            self._last[preemptor] = victim
            self._awaited[victim] += 1

    def end(self, preemptor: str) -> None:
        """All evictions are done, or given up."""
        self._pending.pop(preemptor, None)
        victim = self._last.pop(preemptor, None)
        if victim is not None:
            self._awaited[victim] -= 1
            if not self._awaited[victim]:
                del self._awaited[victim]

    def is_last(self, victim: str) -> bool:
        """Whether a preemptor is let go when this pod is gone."""
        return victim in self._awaited

    def holds(self, preemptor: str) -> bool:
        pending = self._pending.get(preemptor)
        return pending is not None and pending()

    def __len__(self) -> int:
        return len(self._pending)


def _always() -> bool:
    return True
