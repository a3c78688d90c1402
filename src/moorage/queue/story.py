"""The queue's diary: what became of each pod and why, as far back as the log reaches."""

from collections import deque
from typing import NamedTuple

from moorage.framework.queued import QueuedPod, State


class Note(NamedTuple):
    """A pod came from one state to another."""

    time: float
    event: str
    source: State
    target: State
    attempts: int
    plugins: frozenset[str]
    reason: str

    def __str__(self) -> str:
        line = f"{self.time:.3f} {self.source.value} -> {self.target.value} by {self.event}"
        line += f", attempts {self.attempts}" if self.attempts else ""
        line += f", refused by {', '.join(sorted(self.plugins))}" if self.plugins else ""
        return line + (f": {self.reason}" if self.reason else "")


_Row = tuple[str, float, str, State, State, int, frozenset[str], str]


class Diary:
    """A bounded log; the oldest notes are forgotten first."""

    __slots__ = ("_rows",)

    def __init__(self, length: int) -> None:
        self._rows: deque[_Row] = deque(maxlen=length)

    def write(self, pod: QueuedPod, event: str, source: State, now: float) -> None:
        """Put down that a pod came from `source` to where it is now."""
        plugins, reason = pod.refused_by, pod.gated_reason
        row = (pod.info.uid, now, event, source, pod.state, pod.attempts, plugins, reason)
        self._rows.append(row)

    def story(self, uid: str) -> list[Note]:
        """Every note about a pod that is still in the log, oldest first."""
        return [Note(*row[1:]) for row in self._rows if row[0] == uid]
