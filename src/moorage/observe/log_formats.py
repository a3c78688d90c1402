"""Log line formats: klog's text and kube's JSON."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from moorage.api.outside_text import printable

Format = Literal["text", "json"]
Fields = Mapping[str, Any]
Render = Callable[[str, int, float, str, str, Fields], str]
"""(severity, verbosity, time, logger, message, fields) as one line."""

_SEVERITIES: Final = {"I": "info", "W": "warning", "E": "error"}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class KlogText:
    """`I0802 10:22:33.123456       1 decisions] "Scheduled" pod="default/web" score=412`."""

    def __init__(self, pid: int | None = None) -> None:
        self._pid = f"{os.getpid() if pid is None else pid:7d}"
        self._second = -1
        self._stamp = ""

    def __call__(
        self, severity: str, verbosity: int, when: float, logger: str, message: str, fields: Fields
    ) -> str:
        said = "".join([f" {key}={_value(value)}" for key, value in fields.items() if value != ""])
        head = f"{severity}{self._time(when)} {self._pid} {logger}]"
        return f"{head} {_value(message)}{said}\n"

    def _time(self, when: float) -> str:
        second = int(when)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%m%d %H:%M:%S", time.localtime(second))
        return f"{self._stamp}.{int((when - second) * 1e6):06d}"


class KlogJson:
    """`{"ts":1785666153123.456,"v":2,"logger":"decisions","msg":"Scheduled","pod":...}`."""

    def __call__(
        self, severity: str, verbosity: int, when: float, logger: str, message: str, fields: Fields
    ) -> str:
        entry: dict[str, Any] = {"ts": round(when * 1000, 3)}
        if severity == "I":
            entry["v"] = verbosity
        else:
            entry["level"] = _SEVERITIES[severity]
        entry["logger"] = logger
        entry["msg"] = message
        entry.update((key, value) for key, value in fields.items() if value != "")
        return f"{printable(_encode(entry).decode())}\n"


def renderer_for(name: Format) -> Render:
    """The format of that name."""
    return KlogJson() if name == "json" else KlogText()


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return printable(_encode(value if isinstance(value, str) else str(value)).decode())
