"""Files that a configuration is read from, and whether they have changed.

A mounted ConfigMap is a folder of links, which the kubelet swaps at once by renaming another link;
an editor renames a new file over the old one; a script may write into the file. So files are looked
at every now and then, through all links, and what has changed is read only once it holds still.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from moorage.reload.texts import Text
from moorage.simulate.manifests import SUFFIXES, InputError

Signature = tuple[tuple[str, int, int, int], ...]
"""Of each file its name, inode, time of change and size; a file that is not there has zeros."""

_MISSING: Final = (0, 0, 0)


class Files:
    """Files and folders of texts, by the option that names them.

    `beside` are files whose content someone else reads.
    """

    def __init__(self, named: Mapping[str, Iterable[str]], beside: Iterable[Path] = ()) -> None:
        self._paths = [(option, Path(path)) for option, paths in named.items() for path in paths]
        self._beside = list(beside)

    def read(self) -> list[Text]:
        """Every text; InputError where a file is not there."""
        problems: list[str] = []
        texts: list[Text] = []
        for option, path in self._paths:
            found = _files(path)
            if not found:
                inside = ", or no manifests in it" if path.is_dir() else ""
                problems.append(f"{option} {path}: no such file{inside}")
            texts += [Text(str(file), file.read_bytes()) for file in found]
        if problems:
            raise InputError(problems)
        return texts

    def contents(self) -> list[str]:
        """Digests of the files whose content someone else reads."""
        there = (file for file in self._beside if file.is_file())
        return [hashlib.sha256(file.read_bytes()).hexdigest() for file in there]

    def signature(self) -> Signature:
        """What tells whether anything has changed."""
        listed = [file for _, path in self._paths for file in _files(path) or [path]]
        return tuple((str(file), *_stat(file)) for file in (*listed, *self._beside))


def _files(path: Path) -> list[Path]:
    """A file, or the manifests of a folder; what is hidden there is how a ConfigMap is mounted."""
    if path.is_dir():
        inside = (file for file in path.iterdir() if not file.name.startswith("."))
        return sorted(file for file in inside if file.suffix in SUFFIXES and file.is_file())
    return [path] if path.is_file() else []


def _stat(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return _MISSING
    return found.st_ino, found.st_mtime_ns, found.st_size
