"""Errors and warnings about fields of a document: path, line, and Kubernetes' own wording.

ValueError
└── ConfigError    the document cannot be used; `problems` says where and why

The wording of `invalid`, `required`, `duplicate`, `unsupported` and `forbidden` is that of
Kubernetes' field errors, which people know and search for.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from moorage.config.durations import Duration

Path = tuple[str | int, ...]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def format_path(path: Path) -> str:
    """Write a path as kube-scheduler does: `profiles[0].plugins.score.enabled[1].weight`."""
    out = ""
    for part in path:
        if isinstance(part, int) or not _PLAIN.fullmatch(part):
            out += f"[{part}]"
        else:
            out += f".{part}" if out else part
    return out


def parse_path(written: str) -> Path:
    """Parse a path that `format_path` wrote."""
    return tuple(
        int(inner) if inner.isdecimal() else inner or name for inner, name in _STEP.findall(written)
    )


class SourceMap:
    """Maps paths in the decoded value to paths and lines of the document."""

    def __init__(self, lines: dict[Path, int] | None = None) -> None:
        self._lines = lines or {}
        self._moved: dict[Path, Path] = {}
        self._kept: dict[Path, list[int]] = {}

    def move(self, origin: Path, target: Path) -> None:
        """Note that the value at `origin` has moved to `target`."""
        self._moved[target] = self.original(origin)

    def leave_out(self, path: Path, index: int, length: int) -> None:
        """Note that item `index` was removed from the list at `path`, which had `length` items."""
        del self._kept.setdefault(path, list(range(length)))[index]

    def original(self, path: Path) -> Path:
        """Return the path in the document of the value at `path` in the decoded value."""
        out: Path = ()
        for end, part in enumerate(path, start=1):
            kept = self._kept.get(path[: end - 1])
            if isinstance(part, int) and kept is not None and part < len(kept):
                part = kept[part]
            out = self._moved.get(path[:end], (*out, part))
        return out

    def line(self, original: Path) -> int:
        """Return the line of a path in the document, or of its nearest parent; 0 if unknown."""
        for end in range(len(original), -1, -1):
            if original[:end] in self._lines:
                return self._lines[original[:end]]
        return 0


class Problem(NamedTuple):
    """One error, or one change: its place and its message."""

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
    """A document that cannot be used, with all its problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Report:
    """Collects the problems and warnings of one document."""

    def __init__(self, source: str = "", places: SourceMap | None = None, within: str = "") -> None:
        self.source = source
        self.within = within
        self.places = places or SourceMap()
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._blamed: set[Path] = set()

    def problem(self, path: Path, message: str) -> None:
        """Record a problem once, unless one was recorded for a parent of its path."""
        original = self.places.original(path)
        placed = self._placed(original, message)
        is_inside = any(original[:end] in self._blamed for end in range(len(original)))
        if not is_inside and placed not in self.problems:
            self._blamed.add(original)
            self.problems.append(placed)

    def blames(self, path: Path) -> bool:
        """Whether a problem was recorded at exactly this path."""
        return self.places.original(path) in self._blamed

    def warn(self, path: Path, message: str) -> None:
        """Record a warning."""
        self.warnings.append(str(self._placed(self.places.original(path), message)))

    def raise_problems(self) -> None:
        """Raise ConfigError if there are problems."""
        if self.problems:
            raise ConfigError(self.problems)

    def _placed(self, original: Path, message: str) -> Problem:
        line = self.places.line(original)
        return Problem(format_path(original), message, line, self.source, self.within)


def invalid(value: Any, detail: str) -> str:
    """The message for an invalid value."""
    return f"Invalid value: {_shown(value)}: {detail}"


def required(detail: str = "") -> str:
    """The message for a missing value."""
    return f"Required value: {detail}" if detail else "Required value"


def duplicate(value: Any) -> str:
    """The message for a duplicate value."""
    return f"Duplicate value: {_shown(value)}"


def unsupported(value: Any, supported: Iterable[str]) -> str:
    """The message for an unsupported value."""
    return f"Unsupported value: {_shown(value)}: supported values: " + ", ".join(
        f'"{choice}"' for choice in supported
    )


def forbidden(detail: str) -> str:
    """The message for a forbidden value."""
    return f"Forbidden: {detail}"


def _shown(value: Any) -> str:
    if isinstance(value, Duration):
        value = str(value)
    return msgspec.json.encode(value).decode()


class InputError(Exception):
    """Invalid input: one message per problem, each naming file, document and path."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
