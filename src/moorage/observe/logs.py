"""Logging setup: verbosity, format, and one line per message with its fields.

    log = logs.configure(verbosity=2, format="json")
    scheduler = Scheduler(..., observers=(metrics, log.decisions()))
    logs.say(logging.INFO, "became leader", identity=identity)
    ...
    log.close()

Lines come from Python's own loggers, with fields in `extra={"fields": ...}`, and from `decisions`,
which bypasses them for speed. kube's `-v N` becomes a level: V(n) is 20 - n, so INFO is V(0).

-v 0   what it does: starts, leads, stops; and whatever fails
-v 2   one line for each decision
-v 4   each binding, too
-v 5   a trace of each attempt: its steps, verdicts and best scores
-v 6   each HTTP request served
-v 10  everything its libraries say
"""

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

from moorage.config import logging_policy
from moorage.config.logging_policy import LoggingSettings, LogLevel
from moorage.observe import log_formats
from moorage.observe.decision_log import DecisionLog
from moorage.observe.log_formats import Format
from moorage.observe.log_writer import LogWriter

FIELDS: Final = "fields"
ROOT: Final = "moorage"
ACCESS: Final = "aiohttp.access"
REQUEST_VERBOSITY: Final = 6
MAX_VERBOSITY: Final = 10


def level(verbosity: int) -> int:
    """The logging level of kube's V(n)."""
    return logging.INFO - min(max(verbosity, 0), MAX_VERBOSITY)


def say(at: int, message: str, **fields: Any) -> None:
    """Log one message with its fields."""
    logging.getLogger(ROOT).log(at, message, extra={FIELDS: fields})


class Logs(logging.Handler):
    """The handler of all lines; `verbosity` may be set while running."""

    def __init__(self, verbosity: int, format: Format, stream: TextIO) -> None:
        super().__init__()
        self.render = log_formats.renderer_for(format)
        self.writer = LogWriter(stream)
        self.levels: Mapping[str, LogLevel] = {}
        """Levels by verb, which override the verbosity."""
        self._flag = verbosity
        self.verbosity = verbosity

    @property
    def verbosity(self) -> int:
        """How much is logged: kube's -v."""
        return self._verbosity

    @verbosity.setter
    def verbosity(self, verbosity: int) -> None:
        if verbosity < 0:
            raise ValueError(f"the verbosity must not be negative, and is {verbosity}")
        self._verbosity = verbosity
        logging.getLogger(ROOT).setLevel(level(verbosity))
        libraries = logging.DEBUG if verbosity >= MAX_VERBOSITY else logging.WARNING
        logging.getLogger().setLevel(libraries)
        requests = logging.INFO if verbosity >= REQUEST_VERBOSITY else logging.WARNING
        logging.getLogger(ACCESS).setLevel(requests)

    def use(self, settings: LoggingSettings) -> None:
        """Apply a configuration's settings; without a verbosity in it, the flag's counts."""
        wanted = self._flag if settings.verbosity is None else settings.verbosity
        self.levels = logging_policy.levels(settings.rules)
        if wanted != self.verbosity:
            say(logging.INFO, "Verbosity changed", before=self.verbosity, now=wanted)
            self.verbosity = wanted

    def decisions(self) -> DecisionLog:
        """An observer that logs decisions."""
        return DecisionLog(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.writer.put(str, self._line(record))
        if record.levelno >= logging.CRITICAL:
            self.writer.flush()

    def flush(self) -> None:
        """Write all lines logged so far."""
        self.writer.flush()

    def close(self) -> None:
        """Write all lines, and stop logging."""
        logging.getLogger().removeHandler(self)
        for name in (ROOT, ACCESS):
            logging.getLogger(name).setLevel(logging.NOTSET)
        self.writer.close()
        super().close()

    def _line(self, record: logging.LogRecord) -> str:
        severity = "IWE"[(record.levelno >= logging.WARNING) + (record.levelno >= logging.ERROR)]
        fields: dict[str, Any] = dict(getattr(record, FIELDS, ()))
        if record.exc_info:
            fields["stacktrace"] = logging.Formatter().formatException(record.exc_info)
        verbosity = max(0, logging.INFO - record.levelno)
        name = record.name.removeprefix(f"{ROOT}.")
        return self.render(severity, verbosity, record.created, name, record.getMessage(), fields)


def configure(verbosity: int = 0, format: Format = "text", stream: TextIO | None = None) -> Logs:
    """Log everything to one stream, by default standard error."""
    handler = Logs(verbosity, format, sys.stderr if stream is None else stream)
    logging.getLogger().addHandler(handler)
    return handler
