"""Pods in flight (being scheduled), and the events that came in the meantime.

A pod that is being attempted cannot be moved by an event; yet the event may be just what the
attempt was lacking. So events are kept while any pod is in flight, and each pod looks at those
that came after its own departure when it comes back. An event is dropped once every pod that was
in flight when it came has landed.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from moorage.framework.events import ClusterEvent


class InFlightEvent(NamedTuple):
    """An event that came while pods were in flight; with a `target` it concerns that pod only."""

    event: ClusterEvent
    old: Any
    new: Any
    target: str | None = None


class InFlightPods:
    """Pods in flight in the order they departed, and the events since the first of them did."""

    __slots__ = ("_departed", "_dropped", "_events")

    def __init__(self) -> None:
        self._departed: OrderedDict[str, int] = OrderedDict()
        self._events: deque[InFlightEvent] = deque()
        self._dropped = 0

    def depart(self, uid: str) -> None:
        """From here on events matter to this pod."""
        self._departed[uid] = self._dropped + len(self._events)

    def record(self, missed: InFlightEvent) -> bool:
        """Keep an event for those in flight, or for the one it is meant for."""
        concerned = self._departed if missed.target is None else missed.target in self._departed
        if concerned:
            self._events.append(missed)
        return bool(concerned)

    def missed(self, uid: str) -> list[InFlightEvent]:
        """The events that came since a pod in flight departed, and concern it."""
        since = islice(self._events, self._departed[uid] - self._dropped, None)
        return [missed for missed in since if missed.target is None or missed.target == uid]

    def land(self, uid: str) -> None:
        """The pod is no longer in flight; events that nobody missed any more are dropped."""
        del self._departed[uid]
        if not self._events:
            return
        end = self._dropped + len(self._events)
        first = next(iter(self._departed.values()), end)
        for _ in range(first - self._dropped):
            self._events.popleft()
        self._dropped = first

    def counts(self) -> Counter[str]:
        """How many events are kept, by name."""
        return Counter(missed.event.name for missed in self._events)

    def uids(self) -> Iterable[str]:
        """The pods in flight, in the order they departed."""
        return self._departed.keys()

    def validate(self) -> None:
        """Raise AssertionError where events are kept for nobody, or missing for somebody."""
        end = self._dropped + len(self._events)
        starts = list(self._departed.values())
        assert starts == sorted(starts), "pods in flight are out of order"
        assert all(self._dropped <= start <= end for start in starts), "an event was lost"
        if self._events:
            assert starts[:1] == [self._dropped], "events are kept for nobody"
