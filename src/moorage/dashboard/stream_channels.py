"""The kinds of events that viewers are sent, and the state of a viewer for each kind."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from moorage.dashboard.cluster_view import ClusterCursor, ClusterView
from moorage.dashboard.decision_view import DecisionView
from moorage.dashboard.health_view import HealthView
from moorage.dashboard.queue_view import QueueView
from moorage.dashboard.slices import at_once, sliced

MOST_SENT: Final = 50
"""The most attempts in one event; older ones are skipped."""
_ENCODE: Final = msgspec.json.Encoder().encode
BEATS_BETWEEN: Final = 4
"""The queue is read again after this many beats."""


class ClusterChannel:
    """Rows of nodes that changed."""

    name = "cluster"

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    async def catch_up(self) -> None:
        await self._view.catch_up_some()

    def begin(self) -> ClusterCursor:
        return self._view.cursor()

    def since(self, seen: ClusterCursor) -> tuple[dict[str, Any] | None, ClusterCursor]:
        return self._view.since(seen)


class DecisionChannel:
    """The newest attempts; each is encoded once for all viewers."""

    name = "decisions"

    def __init__(self, view: DecisionView) -> None:
        self._view = view
        self._newest: deque[tuple[int, msgspec.Raw]] = deque(maxlen=MOST_SENT)
        self._count = 0
        self._rates: dict[str, float | None] = {}

    async def catch_up(self) -> None:
        """Read the attempts made since the last beat, or the newest of them."""
        self._view.catch_up()
        count = self._view.records.count
        if count > self._count:
            await sliced(at_once, self._taken(self._count))
            self._count, self._rates = count, self._view.rates()

    def _taken(self, after: int) -> Iterator[None]:
        for record in self._view.records.newest(after, MOST_SENT):
            self._newest.append((record.number, msgspec.Raw(_ENCODE(record))))
            yield

    def begin(self) -> int:
        return self._view.records.count

    def since(self, seen: int) -> tuple[dict[str, Any] | None, int]:
        if self._count <= seen:
            return None, seen
        items = [each for number, each in reversed(self._newest) if seen < number <= self._count]
        skipped = max(0, self._count - seen - len(items))
        return {"items": items, "skipped": skipped, "rates": self._rates}, self._count


class HealthChannel:
    """Whether everything is well; read again every few beats."""

    name = "health"

    def __init__(self, view: HealthView) -> None:
        self._view = view
        self._shown: dict[str, Any] = {}
        self._version = self._beats = 0

    async def catch_up(self) -> None:
        """Read the health again, every few beats."""
        self._beats -= 1
        if self._beats > 0:
            return
        self._beats = BEATS_BETWEEN
        shown = self._view.summary()
        if shown != self._shown:
            self._shown, self._version = shown, self._version + 1

    def begin(self) -> int:
        return -1

    def since(self, seen: int) -> tuple[dict[str, Any] | None, int]:
        if seen == self._version or not self._shown:
            return None, seen
        return self._shown, self._version


class QueueChannel:
    """The numbers of waiting pods, and the next ones; read once for all viewers."""

    name = "queue"

    def __init__(self, view: QueueView) -> None:
        self._view = view
        self._shown: dict[str, Any] = {}
        self._version = 0
        self._beats = 0

    async def catch_up(self) -> None:
        """Read the queue again, every few beats."""
        self._beats -= 1
        if self._beats > 0:
            return
        self._beats = BEATS_BETWEEN
        shown = await self._view.top()
        if shown != self._shown:
            self._shown, self._version = shown, self._version + 1

    def begin(self) -> int:
        return -1

    def since(self, seen: int) -> tuple[dict[str, Any] | None, int]:
        if seen == self._version or not self._shown:
            return None, seen
        return self._shown, self._version
