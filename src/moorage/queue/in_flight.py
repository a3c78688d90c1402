"""Pods in flight (being scheduled), and the events that came in the meantime.

An event cannot move a pod while it is being attempted, although it may undo what makes the attempt
fail. So events are kept while any pod is in flight. A pod that comes back is checked against the
events that came after its departure. An event is dropped once every pod that was in flight when it
came has landed.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from moorage.framework.events import ClusterEvent


class InFlightEvent(NamedTuple):
    """An event that came while pods were in flight; a `target` limits it to the pod of that uid."""

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
        """Put a pod in flight: events recorded from now on are kept for it."""
        self._departed[uid] = self._dropped + len(self._events)

    def record(self, missed: InFlightEvent) -> bool:
        """Keep an event if a pod in flight may need it; say whether it was kept."""
        concerned = self._departed if missed.target is None else missed.target in self._departed
        if concerned:
            self._events.append(missed)
        return bool(concerned)

    def missed(self, uid: str) -> list[InFlightEvent]:
        """The events since a pod in flight departed that concern every pod or this one."""
        since = islice(self._events, self._departed[uid] - self._dropped, None)
        return [missed for missed in since if missed.target is None or missed.target == uid]

    def land(self, uid: str) -> None:
        """End a pod's flight, and drop the events that no other pod in flight still needs."""
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
        """Raise AssertionError if events are kept for no pod, or one that is needed is lost."""
        end = self._dropped + len(self._events)
        starts = list(self._departed.values())
        assert starts == sorted(starts), "pods in flight are out of order"
        assert all(self._dropped <= start <= end for start in starts), "an event was lost"
        if self._events:
            assert starts[:1] == [self._dropped], "events are kept for nobody"
