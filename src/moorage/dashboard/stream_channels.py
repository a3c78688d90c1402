"""The kinds of events that viewers are sent, and what each viewer has been sent of them."""

from typing import Any, Final

from moorage.dashboard.cluster_view import ClusterCursor, ClusterView
from moorage.dashboard.decision_view import DecisionView
from moorage.dashboard.health_view import HealthView
from moorage.dashboard.queue_view import QueueView

BEATS_BETWEEN: Final = 4
"""How many beats the queue is shown for before it is put in order again."""


class ClusterChannel:
    """Rows of nodes that changed."""

    name = "cluster"

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def begin(self) -> ClusterCursor:
        return self._view.cursor()

    def since(self, seen: ClusterCursor) -> tuple[dict[str, Any] | None, ClusterCursor]:
        return self._view.since(seen)


class DecisionChannel:
    """The newest attempts."""

    name = "decisions"

    def __init__(self, view: DecisionView) -> None:
        self._view = view

    def begin(self) -> int:
        return self._view.records.count

    def since(self, seen: int) -> tuple[dict[str, Any] | None, int]:
        return self._view.since(seen)


class HealthChannel:
    """Whether all is well; looked at once in a few beats."""

    name = "health"

    def __init__(self, view: HealthView) -> None:
        self._view = view
        self._shown: dict[str, Any] = {}
        self._version = self._beats = 0

    def catch_up(self) -> None:
        """Look again, once in a few beats."""
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
    """How many wait, and who is next; looked at once for all viewers."""

    name = "queue"

    def __init__(self, view: QueueView) -> None:
        self._view = view
        self._shown: dict[str, Any] = {}
        self._version = 0
        self._beats = 0

    async def catch_up(self) -> None:
        """Look at the queue again, once in a few beats."""
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
