"""Where in a document a value stands: its path, and the line it was written on.

Reading and decoding leave things out (a malformed list item) and move things (an extender written
inside a profile), so a path into the decoded value may differ from the one in the document.
`Places` leads back to what the user wrote.
"""

import re
from typing import Final

Path = tuple[str | int, ...]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def text(path: Path) -> str:
    """Write a path as kube-scheduler does: `profiles[0].plugins.score.enabled[1].weight`."""
    out = ""
    for part in path:
        if isinstance(part, int) or not _PLAIN.fullmatch(part):
            out += f"[{part}]"
        else:
            out += f".{part}" if out else part
    return out


def parse(written: str) -> Path:
    """Read a path as `text` writes it."""
    return tuple(
        int(inner) if inner.isdecimal() else inner or name for inner, name in _STEP.findall(written)
    )


class Places:
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
