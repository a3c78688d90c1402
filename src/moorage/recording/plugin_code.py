"""The code of plugins by its hash: of the file that defines the class, and of the package it is in.

A built-in plugin that is a package is hashed with all of its files, so that a change next to the
class is noticed.
"""

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from moorage.cycle.profile import Profile
from moorage.framework.plugin import Plugin
from moorage.recording.entries import PluginCode

SHORT = 12
"""How many digits of a hash are shown."""


def code_of(profiles: Iterable[Profile]) -> tuple[PluginCode, ...]:
    """The code of every plugin of some profiles, sorted by name."""
    found: dict[str, type[Plugin]] = {}
    for profile in profiles:
        for name, plugin in profile.plugins.items():
            found[name] = plugin.origin()
    return tuple(plugin_code(name, found[name]) for name in sorted(found))


def plugin_code(name: str, plugin: type[Plugin]) -> PluginCode:
    """The code of one plugin; without a hash if it has no source."""
    try:
        file = inspect.getsourcefile(plugin) or ""
        files = _files(Path(file))
        digest = _digest(files, tuple(each.stat().st_mtime_ns for each in files))
        return PluginCode(name, digest, _shown(plugin, file))
    except (OSError, TypeError):
        return PluginCode(name, "", plugin.__module__)


def _shown(plugin: type[Plugin], file: str) -> str:
    """Where the code is; an installed module by its name, so that no local path is recorded."""
    own = plugin.__module__.partition(".")[0]
    return plugin.__module__ if own == "moorage" else Path(file).name


def _files(file: Path) -> tuple[Path, ...]:
    """The files of a plugin: its own, or all modules of the package that it is."""
    folder = file.parent
    whole = file.name in ("plugin.py", "__init__.py") and (folder / "__init__.py").exists()
    return tuple(sorted(folder.rglob("*.py"))) if whole else (file,)


def file_digest(file: Path) -> str:
    """The SHA-256 of a file, as sha256sum has it."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@lru_cache(maxsize=512)
def _digest(files: tuple[Path, ...], stamps: tuple[int, ...]) -> str:
    """The SHA-256 of one file; of several, that of their names and hashes."""
    if len(files) == 1:
        return file_digest(files[0])
    hashed = hashlib.sha256()
    for each in files:
        hashed.update(each.name.encode() + b"\0" + hashlib.sha256(each.read_bytes()).digest())
    return hashed.hexdigest()


def changed_code(
    then: Iterable[PluginCode], now: Iterable[PluginCode]
) -> Mapping[str, tuple[PluginCode | None, PluginCode | None]]:
    """The plugins whose code differs, by name: the recorded code, and the code here."""
    before = {each.name: each for each in then}
    after = {each.name: each for each in now}
    return {
        name: (before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if _hash(before.get(name)) != _hash(after.get(name))
    }


def _hash(code: PluginCode | None) -> str | None:
    return None if code is None else code.digest
