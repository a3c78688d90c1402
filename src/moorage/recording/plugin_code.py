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


def code_of(profiles: Iterable[Profile]) -> tuple[PluginCode, ...]:
    """The code of every plugin of some profiles, sorted by name."""
    found: dict[str, type[Plugin]] = {}
    for profile in profiles:
        for name, plugin in profile.plugins.items():
            found[name] = plugin.origin()
    return tuple(_code(name, found[name]) for name in sorted(found))


def _code(name: str, plugin: type[Plugin]) -> PluginCode:
    try:
        file = inspect.getsourcefile(plugin) or ""
        return PluginCode(name, _digest(Path(file), _stamp(Path(file))), _shown(plugin, file))
    except (OSError, TypeError):
        return PluginCode(name, "", plugin.__module__)


def _shown(plugin: type[Plugin], file: str) -> str:
    """Where the code is; an installed module by its name, so that no local path is recorded."""
    own = plugin.__module__.partition(".")[0]
    return plugin.__module__ if own == "moorage" else Path(file).name


def _stamp(file: Path) -> int:
    return file.stat().st_mtime_ns


@lru_cache(maxsize=512)
def _digest(file: Path, stamp: int) -> str:
    folder = file.parent
    whole = file.name in ("plugin.py", "__init__.py") and (folder / "__init__.py").exists()
    files = sorted(folder.glob("*.py")) if whole else [file]
    hashed = hashlib.sha256()
    for each in files:
        hashed.update(each.name.encode() + b"\0" + each.read_bytes() + b"\0")
    return hashed.hexdigest()[:SHORT]


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
