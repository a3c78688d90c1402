"""Loads `--plugin file.py` and `--plugin module:Class`, and tells where a plugin was found.

Files can be read again while the process runs: each version of the content is a module of its own,
so that classes of the version before stay intact. Installed modules are imported once.
"""

import hashlib
import importlib
import importlib.util
import inspect
import logging
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

from moorage.app import built_in_plugins as built_ins
from moorage.app import input_files
from moorage.app.built_in_plugins import BUILT_IN, installed, plugin_entry_points
from moorage.config.field_errors import InputError
from moorage.framework.plugin import Plugin
from moorage.framework.plugin_registry import Registry, RegistryError
from moorage.framework.points import points_of
from moorage.guard.breaker_events import error_text, is_plugins_own_exit
from moorage.guard.load_deadline import IMPORT_SECONDS, LoadTimeout, load_deadline
from moorage.observe.logs import say

Classes = list[type[Plugin]]
WRITABLE: Final = (
    "{} may be written by every user of this machine, who would run code as you: chmod o-w it"
)


def load_plugins(given: Iterable[str]) -> Registry:
    """The installed plugins and those named; every problem is reported."""
    return PluginSet(given).load()


class PluginSet:
    """The plugins of a command; a file with unchanged content gives the same classes again.

    Files that every user of the machine may write are refused.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self._given = tuple(given)
        self._kept: dict[tuple[str, str], Classes] = {}
        self.files = tuple(Path(name) for name in self._given if name.endswith(".py"))
        self.digests: tuple[str, ...] = ()
        """The digests of the contents that were loaded last."""

    def load(self) -> Registry:
        """The installed plugins and those named; every problem is reported."""
        known = built_ins.installed()
        problems: list[str] = []
        used: dict[tuple[str, str], Classes] = {}
        for name in self._given:
            try:
                for plugin in self._classes(name, used):
                    known.add(plugin)
            except (InputError, RegistryError) as error:
                problems.append(f"--plugin {name}: {error}")
        if problems:
            raise InputError(problems)
        self._kept, self.digests = {**self._kept, **used}, tuple(digest for _, digest in used)
        return known

    def _classes(self, name: str, used: dict[tuple[str, str], Classes]) -> Classes:
        if not name.endswith(".py"):
            return _in_module(name)
        path = Path(name)
        content = _source_code(path)
        if place := writable_by_others(path):
            raise InputError([WRITABLE.format(place)])
        key = name, hashlib.sha256(content).hexdigest()
        found = self._kept.get(key)
        if found is None:
            found = _in_file(path, content, key[1])
            names = ", ".join(plugin.plugin_name() for plugin in found)
            say(logging.INFO, "Plugin file loaded", file=name, sha256=key[1], plugins=names)
        used[key] = found
        return found


def writable_by_others(path: Path) -> str:
    """The file or its folder, if every user of the machine may write it; else empty.

    File systems that are mounted read-only, as ConfigMaps are, and folders with the sticky bit are
    safe: other users cannot replace files there.
    """
    for place in (path, path.resolve(), path.parent, path.resolve().parent):
        mode = place.stat().st_mode
        sticky = stat.S_ISDIR(mode) and mode & stat.S_ISVTX
        if mode & stat.S_IWOTH and not sticky and not _read_only(place):
            return str(place)
    return ""


def _read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def _source_code(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError([input_files.os_problem(path, error).partition(": ")[2]]) from None


def _in_module(name: str) -> Classes:
    module, _, wanted = name.partition(":")
    if not wanted:
        raise InputError(["neither a file.py nor module:Class"])
    found = getattr(_imported(module), wanted, None)
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise InputError([f"{module} has no plugin class {wanted}"])
    return [found]


def _in_file(path: Path, content: bytes, digest: str) -> Classes:
    spec = importlib.util.spec_from_file_location(f"moorage_plugin_{path.stem}_{digest[:8]}", path)
    if spec is None or spec.loader is None:
        raise InputError(["not a Python file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        with load_deadline(IMPORT_SECONDS, module.__name__):
            exec(compile(content, str(path), "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[module.__name__]
        if not _is_modules_own(error):
            raise
        raise InputError([_where(error, path)]) from None
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Plugin)
        and value.__module__ == module.__name__
        and points_of(value)
    ]
    if not found:
        raise InputError(["defines no plugin: a class deriving from Filter, Score ..."])
    return found


def _imported(module: str) -> ModuleType:
    try:
        with load_deadline(IMPORT_SECONDS, module):
            return importlib.import_module(module)
    except BaseException as error:
        if not _is_modules_own(error):
            raise
        said = str(error) if isinstance(error, LoadTimeout) else error_text(error)
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            said += f"; install it, set PYTHONPATH, or give a file: {module.replace('.', '/')}.py"
        raise InputError([f"cannot import {module}: {said}"]) from None


def _is_modules_own(error: BaseException) -> bool:
    """Whether a module raised it, and not Moorage or a user who pressed Ctrl-C."""
    return isinstance(error, Exception) or is_plugins_own_exit(error)


def _where(error: BaseException, path: Path) -> str:
    """The error, with the line of the plugin file that it came from."""
    if isinstance(error, LoadTimeout):
        return f"does not import: {error}"
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    place = f"line {line}: " if line else ""
    return f"does not import: {place}{type(error).__name__}: {error}"


def plugin_classes(given: str) -> list[type[Plugin]]:
    """The plugins of one FILE.py or MODULE:CLASS, in alphabetical order."""
    known, before = load_plugins([given]), set(installed().values())
    wanted = given.partition(":")[2]
    found = {
        plugin.__name__: plugin
        for plugin in known.values()
        if (plugin.__name__ == wanted if wanted else plugin not in before)
    }
    return [found[name] for name in sorted(found)]


def describe_source(plugin: type[Plugin]) -> str:
    """Where a plugin comes from, in words: built in, an installed package, or a file."""
    if plugin in BUILT_IN:
        return "kube-scheduler's, built in"
    if plugin.__module__.partition(".")[0] == "moorage":
        return "Moorage's policy, built in"
    for entry in plugin_entry_points():
        module, _, attribute = entry.value.partition(":")
        if (module, attribute) == (plugin.__module__, plugin.__name__):
            name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("?", "?")
            return f"package {name} {version} ({entry.value})"
    try:
        return f"{inspect.getsourcefile(plugin)}"
    except (OSError, TypeError):
        return plugin.__module__
