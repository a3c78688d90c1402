"""Problems and warnings, each with its place; all of them are reported, not only the first.

ValueError
└── ConfigError    the document cannot be used; `problems` says where and why

The wording of `invalid`, `required`, `duplicate`, `unsupported` and `forbidden` is that of
Kubernetes' field errors, which people know and search for.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from moorage.config.durations import Duration
from moorage.config.places import Path, Places, text


class Problem(NamedTuple):
    """One thing that is wrong, or was changed: what, and where."""

    place: str
    message: str
    line: int = 0
    source: str = ""
    within: str = ""

    def __str__(self) -> str:
        """Write `source:line: within: place: message`, leaving out what is unknown."""
        line = f"line {self.line}" if self.line else ""
        where = f"{self.source}:{self.line}" if self.source and self.line else self.source or line
        return ": ".join(part for part in (where, self.within, self.place, self.message) if part)


class ConfigError(ValueError):
    """A document that cannot be used, with everything that is wrong in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Report:
    """Collects the problems and warnings of one document."""

    def __init__(self, source: str = "", places: Places | None = None, within: str = "") -> None:
        self.source = source
        self.within = within
        self.places = places or Places()
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._blamed: set[Path] = set()

    def problem(self, path: Path, message: str) -> None:
        """Record a problem, unless what surrounds it was already found to be wrong."""
        original = self.places.original(path)
        if not any(original[:end] in self._blamed for end in range(len(original))):
            self._blamed.add(original)
            self.problems.append(self._placed(original, message))

    def blames(self, path: Path) -> bool:
        """Say whether a problem was recorded at this very place."""
        return self.places.original(path) in self._blamed

    def warn(self, path: Path, message: str) -> None:
        """Record something the user should know but that stops nothing."""
        self.warnings.append(str(self._placed(self.places.original(path), message)))

    def raise_problems(self) -> None:
        """Raise what was found, if anything."""
        if self.problems:
            raise ConfigError(self.problems)

    def _placed(self, original: Path, message: str) -> Problem:
        line = self.places.line(original)
        return Problem(text(original), message, line, self.source, self.within)


def invalid(value: Any, detail: str) -> str:
    """Word a value that may not be what it is."""
    return f"Invalid value: {_shown(value)}: {detail}"


def required(detail: str = "") -> str:
    """Word a value that must be there."""
    return f"Required value: {detail}" if detail else "Required value"


def duplicate(value: Any) -> str:
    """Word a value that is there twice."""
    return f"Duplicate value: {_shown(value)}"


def unsupported(value: Any, supported: Iterable[str]) -> str:
    """Word a value that is not one of those supported."""
    return f"Unsupported value: {_shown(value)}: supported values: " + ", ".join(
        f'"{choice}"' for choice in supported
    )


def forbidden(detail: str) -> str:
    """Word a value that must not be there."""
    return f"Forbidden: {detail}"


def _shown(value: Any) -> str:
    if isinstance(value, Duration):
        value = str(value)
    return msgspec.json.encode(value).decode()
