"""A circuit breaker per plugin: closed, open after repeated failures, half-open on trial.

    CLOSED ──threshold failed units in a row──▶ OPEN ──cooldown over──▶ HALF_OPEN
      ▲                                           ▲                        │
      │                                           └─────a failure──────────┤
      └───────────────────────────the unit on trial passed─────────────────┘

A unit is one attempt, or one call if a hook belongs to no attempt. Units of different strands
(deciding, queueing, binding) are interleaved; each strand counts its own failures.
"""

import enum
from collections import Counter
from typing import Any


class State(enum.IntEnum):
    """The state of a breaker; the values are those of the metric."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


class Breaker:
    """Decides whether a plugin is called. The caller passes the time."""

    __slots__ = (
        "_cooldown",
        "_failed",
        "_failures",
        "_threshold",
        "_unit",
        "last_error",
        "state",
        "trips",
        "until",
    )

    def __init__(self, threshold: int, cooldown: float) -> None:
        self._threshold = threshold
        self._cooldown = cooldown
        self._failures: Counter[str] = Counter()
        self._unit: dict[str, Any] = {}
        self._failed: set[str] = set()
        self.state = State.CLOSED
        self.until = 0.0
        self.trips = 0
        self.last_error = ""

    def begin(self, strand: str, unit: Any, now: float) -> bool:
        """Begin a unit, which ends the one before; whether the plugin may be called."""
        if self.state is State.OPEN:
            if now < self.until:
                return False
            self.state = State.HALF_OPEN
            self._unit.clear()
            self._failed.clear()
        before = self._unit.get(strand)
        if before is not None and before is not unit:
            if strand not in self._failed:
                self._passed(strand)
            self._failed.discard(strand)
        self._unit[strand] = unit
        return True

    def fail(self, strand: str, now: float, detail: str) -> bool:
        """Count a failure; True if it switches the plugin off."""
        self.last_error = detail
        if self.state is State.OPEN:
            return False
        if strand not in self._failed:
            self._failed.add(strand)
            self._failures[strand] += 1
        if self.state is State.CLOSED and not 0 < self._threshold <= self._failures[strand]:
            return False
        self.state, self.until = State.OPEN, now + self._cooldown
        self.trips += 1
        return True

    def _passed(self, strand: str) -> None:
        self._failures[strand] = 0
        if self.state is State.HALF_OPEN:
            self.state = State.CLOSED
            self._failures.clear()
