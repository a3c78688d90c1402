"""`--plugin file.py` and `--plugin module:Class`: more plugins for the registry."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from moorage.framework.plugin import Plugin
from moorage.framework.points import points_of
from moorage.framework.registry import Registry, RegistryError
from moorage.plugins import registry as built_ins
from moorage.simulate.manifests import InputError


def load(given: Iterable[str]) -> Registry:
    """The installed plugins and those named; every problem is reported."""
    known = built_ins.installed()
    problems: list[str] = []
    for name in given:
        try:
            for plugin in _classes(name):
                known.add(plugin)
        except (InputError, RegistryError) as error:
            problems.append(f"--plugin {name}: {error}")
    if problems:
        raise InputError(problems)
    return known


def _classes(name: str) -> list[type[Plugin]]:
    if name.endswith(".py"):
        return _in_file(Path(name))
    module, _, wanted = name.partition(":")
    if not wanted:
        raise InputError(["neither a file.py nor module:Class"])
    found = getattr(_imported(module), wanted, None)
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise InputError([f"{module} has no plugin class {wanted}"])
    return [found]


def _in_file(path: Path) -> list[type[Plugin]]:
    if not path.is_file():
        raise InputError(["no such file"])
    spec = importlib.util.spec_from_file_location(f"moorage_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(["not a Python file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
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
        return importlib.import_module(module)
    except Exception as error:
        raise InputError([f"cannot import {module}: {type(error).__name__}: {error}"]) from None


def _where(error: BaseException, path: Path) -> str:
    """What was raised, and the line of the plugin file it came from."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    place = f"line {line}: " if line else ""
    return f"does not import: {place}{type(error).__name__}: {error}"
