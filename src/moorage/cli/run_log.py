"""What a running scheduler says on standard error: lines for people, or JSON for machines.

-v 0   what it does: connects, leads, stops; and whatever fails
-v 2   one line for each decision and each binding
-v 4   everything its libraries say too
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from moorage.observe.records import Attempt, Bound, Result

LogFormat = Literal["text", "json"]
FIELDS = "fields"

log = logging.getLogger("moorage")


def configure(verbosity: int, log_format: LogFormat) -> None:
    """Say what is to be said on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if log_format == "json" else _Text())
    logger = logging.getLogger() if verbosity >= 4 else log
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbosity >= 4 else logging.INFO)


def say(level: int, message: str, **fields: Any) -> None:
    """One message with its fields."""
    log.log(level, message, extra={FIELDS: fields})


class Narrator:
    """An observer that says what happened to each pod."""

    def __init__(self, verbosity: int) -> None:
        self._decisions = verbosity >= 2

    def attempted(self, attempt: Attempt) -> None:
        if attempt.result is Result.ERROR:
            say(logging.ERROR, "attempt failed", pod=attempt.pod, error=attempt.message)
        elif self._decisions and attempt.result is Result.UNSCHEDULABLE:
            say(logging.INFO, "unschedulable", pod=attempt.pod, why=attempt.message)

    def bound(self, bound: Bound) -> None:
        if self._decisions:
            say(logging.INFO, "bound", pod=bound.pod, node=bound.node, attempts=bound.attempts)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        said = f"{type(error).__name__}: {error}"
        say(logging.WARNING, "failed", about=pod, attempt=attempt, error=said)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {key}={_quoted(value)}" for key, value in _fields(record).items())
        text = f"{_time(record)} {record.levelname} {record.getMessage()}{fields}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry).decode()


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, FIELDS, {})
    return {key: value for key, value in found.items() if value != ""}


def _quoted(value: Any) -> str:
    text = str(value)
    return msgspec.json.encode(text).decode() if " " in text or '"' in text else text
