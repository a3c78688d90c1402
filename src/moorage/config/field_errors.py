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
    """Read a path as `text` writes it."""
    return tuple(
        int(inner) if inner.isdecimal() else inner or name for inner, name in _STEP.findall(written)
    )


class SourceMap:
    """Leads from paths in the decoded value to paths and lines of the document."""

    def __init__(self, lines: dict[Path, int] | None = None) -> None:
        self._lines = lines or {}
        self._moved: dict[Path, Path] = {}
        self._kept: dict[Path, list[int]] = {}

    def move(self, origin: Path, target: Path) -> None:
        """Note that what stood at `origin` now stands at `target`."""
        self._moved[target] = self.original(origin)

    def leave_out(self, path: Path, index: int, length: int) -> None:
        """Note that the item at `index` of the list at `path`, then `length` long, is gone."""
        del self._kept.setdefault(path, list(range(length)))[index]

    def original(self, path: Path) -> Path:
        """Return the path in the document of what stands at `path` in the decoded value."""
        out: Path = ()
        for end, part in enumerate(path, start=1):
            kept = self._kept.get(path[: end - 1])
            if isinstance(part, int) and kept is not None and part < len(kept):
                part = kept[part]
            out = self._moved.get(path[:end], (*out, part))
        return out

    def line(self, original: Path) -> int:
        """Return the line of a path in the document, or of what surrounds it; 0 if unknown."""
        for end in range(len(original), -1, -1):
            if original[:end] in self._lines:
                return self._lines[original[:end]]
        return 0


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

    def __init__(self, source: str = "", places: SourceMap | None = None, within: str = "") -> None:
        self.source = source
        self.within = within
        self.places = places or SourceMap()
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._blamed: set[Path] = set()

    def problem(self, path: Path, message: str) -> None:
        """Record a problem once, unless what surrounds it was already found to be wrong."""
        original = self.places.original(path)
        placed = self._placed(original, message)
        is_inside = any(original[:end] in self._blamed for end in range(len(original)))
        if not is_inside and placed not in self.problems:
            self._blamed.add(original)
            self.problems.append(placed)

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
        return Problem(format_path(original), message, line, self.source, self.within)


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


class InputError(Exception):
    """Input at fault: one message per problem, each naming file, document and path."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
