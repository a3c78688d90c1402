"""The last configurations that were in force: when each took over, and how it differs."""

import difflib
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import yaml

from moorage.app.config_bundle import ConfigBundle
from moorage.config.types import SchedulerConfiguration
from moorage.serve.configz import redacted_configuration

KEPT: Final = 20
MOST_LINES: Final = 200


class ConfigurationHistory:
    """Keeps the last configurations that took over, without keys and other secrets."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._text: list[str] = []
        self._count = 0
        self._kept: deque[dict[str, Any]] = deque(maxlen=KEPT)

    def apply(self, found: ConfigBundle) -> None:
        """Record a configuration that takes over."""
        before, self._text = self._text, _lines(found.configuration)
        self._count += 1
        self._kept.append(
            {
                "generation": self._count,
                "at": self._now(),
                "difference": _difference(before, self._text) if before else [],
            }
        )

    def rows(self) -> list[dict[str, Any]]:
        """The last configurations, the one in force first."""
        return [
            {**each, "in_force": each["generation"] == self._count} for each in reversed(self._kept)
        ]


def _lines(configuration: SchedulerConfiguration) -> list[str]:
    plain = redacted_configuration(configuration)
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)).splitlines()


def _difference(before: list[str], after: list[str]) -> list[str]:
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    left = len(lines) - MOST_LINES
    return lines if left <= 0 else [*lines[:MOST_LINES], f"... {left} lines more"]
