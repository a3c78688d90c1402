"""The decision log: one line per scheduling attempt and binding.

The id of the attempt is in the line, in the event about the pod (annotation `moorage/attempt`) and
in every error of the attempt.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from moorage.config.logging_policy import LogLevel
from moorage.framework.verdicts import PluginError
from moorage.observe.log_formats import Render
from moorage.observe.log_writer import LogWriter
from moorage.observe.records import Attempt, Bound, Compared, Reloaded, Result, RolledBack
from moorage.observe.repeated_failures import RepeatedFailures

DECISION_VERBOSITY: Final = 2
BINDING_VERBOSITY: Final = 4
LOGGER_NAME: Final = "decisions"


class LogSink(Protocol):
    """Receives the lines."""

    @property
    def verbosity(self) -> int: ...
    @property
    def levels(self) -> Mapping[str, LogLevel]: ...
    @property
    def render(self) -> Render: ...
    @property
    def writer(self) -> LogWriter: ...


NO_ANSWER: Final = 0
"""The status of an API error without any answer."""
UNREACHABLE: Final = "The API server cannot be reached; it is tried again, ever more rarely"


class DecisionLog:
    """An observer that logs decisions; on the event loop it only checks whether to log a line."""

    def __init__(self, sink: LogSink, now: Callable[[], float] = time.monotonic) -> None:
        self._sink = sink
        self._outages = RepeatedFailures(now)

    def attempted(self, attempt: Attempt) -> None:
        if attempt.result is Result.ERROR or self._wanted("schedule", DECISION_VERBOSITY):
            self._sink.writer.put(self._attempt, attempt)

    def bound(self, bound: Bound) -> None:
        if self._wanted("bind", BINDING_VERBOSITY):
            self._sink.writer.put(self._bound, bound)

    def _wanted(self, verb: str, verbosity: int) -> bool:
        level = self._sink.levels.get(verb) if self._sink.levels else None
        if level is None:
            return self._sink.verbosity >= verbosity
        return level in (LogLevel.INFO, LogLevel.DEBUG)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        if pod.startswith("watch/") and getattr(error, "status", None) == NO_ANSWER:
            self._unreachable(error)
            return
        fields = {"about": pod, "attempt": attempt, "err": f"{type(error).__name__}: {error}"}
        if isinstance(error, PluginError):
            fields |= {"plugin": error.plugin, "extension_point": error.point}
        _say(logging.WARNING, "Failed", **fields)

    def _unreachable(self, error: BaseException) -> None:
        """One line for all watches, which fail together; the others only with -v 4.

        What is in the way by now may be something else than it was: that is said at once.
        """
        unsaid = self._outages.due(_obstacle(str(error)))
        if unsaid is None and self._sink.verbosity < BINDING_VERBOSITY:
            return
        fields = {"since_then": f"{unsaid} more"} if unsaid else {}
        _say(logging.WARNING, UNREACHABLE, err=str(error), **fields)

    def reloaded(self, reloaded: Reloaded) -> None:
        fields: dict[str, Any] = {"generation": reloaded.generation, "digest": reloaded.digest}
        if reloaded.source:
            fields["source"] = reloaded.source
        for warning in reloaded.warnings:
            _say(logging.WARNING, "Configuration warning", warning=warning)
        if reloaded.restart:
            fields["needs_restart"] = ", ".join(reloaded.restart)
        if reloaded.outcome == "refused":
            _say(logging.ERROR, "Configuration refused", **fields, err=reloaded.message)
        elif reloaded.outcome == "success":
            level = logging.WARNING if reloaded.restart else logging.INFO
            _say(level, "Configuration reloaded", **fields)
        else:
            _say(logging.INFO, "Configuration unchanged", **fields)

    def compared(self, compared: Compared) -> None:
        fields = {"profile": compared.profile, "version": compared.version, "look": compared.look}
        _say(logging.INFO, "Canary compared", **fields, found=compared.summary)

    def rolled_back(self, rolled_back: RolledBack) -> None:
        fields = {"profile": rolled_back.profile, "version": rolled_back.version}
        _say(logging.WARNING, "Canary rolled back", **fields, reason=rolled_back.reason)

    def _attempt(self, attempt: Attempt) -> str:
        message, fields = _LINES[attempt.result](attempt)
        severity = "E" if attempt.result is Result.ERROR else "I"
        when = attempt.time + attempt.seconds
        return self._sink.render(severity, DECISION_VERBOSITY, when, LOGGER_NAME, message, fields)

    def _bound(self, bound: Bound) -> str:
        fields = {
            "pod": bound.pod,
            "node": bound.node,
            "attempt": bound.attempt,
            "attempts": bound.attempts,
            "ms": _ms(bound.seconds),
            "waited_s": round(bound.since_added, 3),
            **_decided_by(bound),
        }
        return self._sink.render("I", BINDING_VERBOSITY, bound.time, LOGGER_NAME, "Bound", fields)


def _obstacle(said: str) -> str:
    """Why a request got no answer; what a credential plugin says may be new each time."""
    request, _, why = said.partition(": ")
    return why if "://" in request else "no request was made"


def _say(level: int, message: str, **fields: Any) -> None:
    logging.getLogger("moorage").log(level, message, extra={"fields": fields})


def _scheduled(attempt: Attempt) -> tuple[str, dict[str, Any]]:
    return "Scheduled", {
        "pod": attempt.pod,
        "node": attempt.node,
        "score": attempt.score,
        "feasible": attempt.feasible,
        "evaluated": attempt.evaluated,
        **_common(attempt),
    }


def _unschedulable(attempt: Attempt) -> tuple[str, dict[str, Any]]:
    fields = {"pod": attempt.pod, "reason": attempt.message, **_common(attempt)}
    if attempt.nominated:
        fields |= {"nominated": attempt.nominated, "victims": attempt.victims}
    return "Unschedulable", fields


def _error(attempt: Attempt) -> tuple[str, dict[str, Any]]:
    return "Attempt failed", {
        "pod": attempt.pod,
        "err": attempt.message,
        "plugin": attempt.plugin,
        "extension_point": attempt.point,
        **_common(attempt),
    }


def _common(attempt: Attempt) -> dict[str, Any]:
    return {
        "profile": attempt.profile,
        "attempt": attempt.id,
        "attempts": attempt.attempts,
        "ms": _ms(attempt.seconds),
        **_decided_by(attempt),
        **({"trace": attempt.trace} if attempt.trace else {}),
    }


def _decided_by(record: Attempt | Bound) -> dict[str, Any]:
    """The generation of the configuration and the version of the profile, if known."""
    found: dict[str, Any] = {"generation": record.generation} if record.generation else {}
    return {**found, "version": record.version} if record.version else found


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


_LINES: Final = {
    Result.SCHEDULED: _scheduled,
    Result.UNSCHEDULABLE: _unschedulable,
    Result.ERROR: _error,
}
