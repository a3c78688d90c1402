"""The table of legal transitions between queue states, and the log of those each pod made."""

import enum
from collections import deque
from typing import Final, NamedTuple

from moorage.framework.queued_pod import QueuedPod, State


class TransitionRecord(NamedTuple):
    """A pod's transition from one state to another."""

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


class TransitionLog:
    """A bounded log of transitions; the oldest are dropped first."""

    __slots__ = ("_rows", "is_kept")

    def __init__(self, length: int) -> None:
        self._rows: deque[_Row] = deque(maxlen=length)
        self.is_kept = length > 0

    def write(self, pod: QueuedPod, event: str, source: State, now: float) -> None:
        """Log that a pod went from `source` to its present state."""
        plugins, reason = pod.refused_by, pod.gated_reason
        row = (pod.info.uid, now, event, source, pod.state, pod.attempts, plugins, reason)
        self._rows.append(row)

    def story(self, uid: str) -> list[TransitionRecord]:
        """Every transition of a pod that is still in the log, oldest first."""
        return [TransitionRecord(*row[1:]) for row in self._rows if row[0] == uid]


OUTSIDE, ACTIVE, GATED = State.OUTSIDE, State.ACTIVE, State.GATED
BACKOFF, ERROR_BACKOFF = State.BACKOFF, State.ERROR_BACKOFF
UNSCHEDULABLE, IN_FLIGHT = State.UNSCHEDULABLE, State.IN_FLIGHT


class Trigger(enum.Enum):
    """What makes a pod change its state: a method of the queue, or time."""

    ADD = "add"
    POP = "pop"
    DONE = "done"
    PUT_BACK = "put_back"
    MOVE = "move"
    ACTIVATE = "activate"
    UPDATE = "update"
    DELETE = "delete"
    BACKOFF_COMPLETE = "backoff completes"
    FLUSH = "flush"
    RECONFIGURE = "reconfigure"

    __hash__ = object.__hash__


Targets = dict[Trigger, frozenset[State]]

_OUT: Final = frozenset({OUTSIDE})
_IN: Final = frozenset({ACTIVE, GATED})
_RETRY: Final = frozenset({ACTIVE, BACKOFF, GATED})
_WAITS_OUT: Final[Targets] = {
    Trigger.BACKOFF_COMPLETE: frozenset({ACTIVE}),
    Trigger.ACTIVATE: frozenset({ACTIVE}),
    Trigger.DELETE: _OUT,
}

TABLE: Final[dict[State, Targets]] = {
    OUTSIDE: {
        Trigger.ADD: _IN,
        Trigger.UPDATE: _IN,
        Trigger.PUT_BACK: _RETRY | {ERROR_BACKOFF, OUTSIDE},
        Trigger.ACTIVATE: _OUT,
        Trigger.DONE: _OUT,
        Trigger.DELETE: _OUT,
    },
    ACTIVE: {
        Trigger.POP: frozenset({IN_FLIGHT}),
        Trigger.UPDATE: frozenset({ACTIVE}),
        Trigger.ACTIVATE: frozenset({ACTIVE}),
        Trigger.DELETE: _OUT,
        Trigger.RECONFIGURE: _IN | _OUT,
    },
    BACKOFF: {
        Trigger.POP: frozenset({IN_FLIGHT}),
        Trigger.UPDATE: frozenset({BACKOFF}),
        Trigger.RECONFIGURE: _RETRY | _OUT,
        **_WAITS_OUT,
    },
    ERROR_BACKOFF: {
        Trigger.UPDATE: frozenset({ERROR_BACKOFF}),
        Trigger.RECONFIGURE: _IN | _OUT | {ERROR_BACKOFF},
        **_WAITS_OUT,
    },
    UNSCHEDULABLE: {
        Trigger.MOVE: _RETRY,
        Trigger.FLUSH: _RETRY,
        Trigger.ACTIVATE: _IN,
        Trigger.UPDATE: _RETRY | {UNSCHEDULABLE},
        Trigger.DELETE: _OUT,
        Trigger.RECONFIGURE: _RETRY | _OUT,
    },
    GATED: {
        Trigger.MOVE: _RETRY,
        Trigger.FLUSH: _RETRY,
        Trigger.ACTIVATE: _IN,
        Trigger.UPDATE: _RETRY,
        Trigger.DELETE: _OUT,
        Trigger.RECONFIGURE: _RETRY | _OUT,
    },
    IN_FLIGHT: {
        Trigger.PUT_BACK: _RETRY | {ERROR_BACKOFF, UNSCHEDULABLE, OUTSIDE},
        Trigger.DONE: _OUT,
        Trigger.UPDATE: frozenset({IN_FLIGHT}),
        Trigger.ACTIVATE: frozenset({IN_FLIGHT}),
        Trigger.DELETE: frozenset({IN_FLIGHT}),
        Trigger.RECONFIGURE: frozenset({IN_FLIGHT}),
    },
}


class QueueError(Exception):
    """A caller broke the table of legal transitions: a bug of Moorage, never of a user."""


def require(pod: str, state: State, trigger: Trigger) -> None:
    """Raise QueueError unless the trigger is legal for a pod in this state."""
    if trigger not in TABLE[state]:
        raise QueueError(f"pod {pod} is {state.value}: {trigger.value} is not legal there")


def diagram() -> str:
    """The table as a mermaid state diagram, one line for each pair of states."""
    between: dict[tuple[State, State], list[str]] = {}
    for source, targets in TABLE.items():
        for trigger, reached in targets.items():
            for target in State:
                if target in reached and (source, target) != (OUTSIDE, OUTSIDE):
                    between.setdefault((source, target), []).append(trigger.value)
    arrows = (f"    {_id(a)} --> {_id(b)}: {', '.join(by)}" for (a, b), by in between.items())
    return "\n".join(["stateDiagram-v2", *arrows])


def _id(state: State) -> str:
    return "[*]" if state is OUTSIDE else state.value.replace(" ", "_")
