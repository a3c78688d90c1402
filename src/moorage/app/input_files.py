"""Files that a user names: read whole, or refused with one line that names the remedy.

`-` is standard input; pipes (`/dev/stdin`, `<(...)`) are read like files.
"""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from moorage.config.field_errors import InputError

STDIN: Final = "-"
STDIN_TITLE: Final = "standard input"

_REMEDIES: Final = {
    errno.ENOENT: "no such file or folder",
    errno.EACCES: "permission denied: make it readable for this user (chmod +r)",
    errno.EPERM: "permission denied: make it readable for this user (chmod +r)",
    errno.EISDIR: "a folder, where a file is expected",
    errno.ELOOP: "a link that leads to itself",
    errno.ENAMETOOLONG: "no such file or folder: the name is too long",
    errno.ENOTDIR: "no such file or folder: a part of the path is a file",
}


def title_of(name: str | Path) -> str:
    """The name of an input in messages."""
    return STDIN_TITLE if str(name) == STDIN else str(name)


def os_problem(name: str | Path, error: OSError) -> str:
    """An operating system's error about a file, with a remedy."""
    said = _REMEDIES.get(error.errno or 0) or str(error.strerror or error).lower()
    return f"{title_of(name)}: {said}"


def read_input(name: str | Path, option: str = "") -> bytes:
    """The content of a file or of standard input; `option` is the option that named it."""
    try:
        return _read_stdin() if str(name) == STDIN else Path(name).read_bytes()
    except OSError as error:
        prefix = f"{option} " if option else ""
        raise InputError([f"{prefix}{os_problem(name, error)}"]) from None
    except ValueError as error:  # a name with a NUL in it
        raise InputError([f"{title_of(name)!r}: {error}"]) from None


def _read_stdin() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError([f"{STDIN_TITLE}: closed: pipe something into it, or name a file"])
    return sys.stdin.buffer.read()


def walk_folder(folder: Path, problems: list[str]) -> Iterator[Path]:
    """Every file below a folder, in order, without pipes and hidden entries.

    Hidden entries are `.git` and the like, and the folders of a ConfigMap's mount.
    """

    def unreadable(error: OSError) -> None:
        problems.append(os_problem(error.filename, error))

    for place, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found = (Path(place, name) for name in sorted(files) if not name.startswith("."))
        yield from (file for file in found if file.is_file() or not file.exists())
