"""The files of a new plugin, and its name as class, module and package."""

import keyword
import re
import sys
from collections.abc import Sequence
from textwrap import dedent
from typing import NamedTuple

from moorage.scaffold.hook_samples import SAMPLES
from moorage.scaffold.templates import (
    CONFIG,
    DISABLED,
    EXAMPLE,
    FILTER_TEST,
    PLUGIN,
    PYPROJECT,
    PYTEST_INI,
    SCORE_TEST,
    TEST,
)

_TAKEN = frozenset({"moorage", "pytest", "numpy", "msgspec", "yaml", "test", "tests"})
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


class Names(NamedTuple):
    """The three forms of a name: `TenantZones`, `tenant_zones`, `tenant-zones`."""

    cls: str
    module: str
    package: str

    @classmethod
    def of(cls, given: str) -> "Names":
        """All forms of a name given in any of them; ValueError if it makes no class name."""
        words = _WORD.findall(given)
        made = given if given.isidentifier() and given[0].isupper() else ""
        made = made or "".join(word[:1].upper() + word[1:] for word in words)
        if not made.isidentifier() or keyword.iskeyword(made):
            raise ValueError(f"{given!r} makes no name of a class: try TenantZones or tenant-zones")
        lower = [word.lower() for word in words]
        module = "_".join(lower)
        if keyword.iskeyword(module) or keyword.issoftkeyword(module):
            raise ValueError(f"{given!r} makes {module}.py, a word of Python's own: choose another")
        if module in sys.stdlib_module_names or module in _TAKEN:
            raise ValueError(f"{given!r} makes {module}.py, a module that is there: choose another")
        if not given.isascii():
            raise ValueError(f"{given!r} makes no name of a module: use a to z and digits")
        return cls(made, "_".join(lower), "-".join(lower))


WIDTH = 100


def make(names: Names, points: Sequence[str], *, package: bool = False) -> dict[str, str]:
    """The texts of a plugin for some extension points, by file name."""
    words = {
        "cls": names.cls,
        "module": names.module,
        "package": names.package,
        "label": f"example.com/{names.package}",
    }
    plugin, test = _plugin(points, words), _test(points, words)
    disabled = DISABLED if "queue_sort" in points else ""
    beside = {
        "scheduler.yaml": CONFIG.format(**words, disabled=disabled),
        "example.yaml": EXAMPLE.format(**words),
    }
    if not package:
        return {
            f"{names.module}.py": plugin,
            f"test_{names.module}.py": test,
            "pytest.ini": PYTEST_INI,
            **beside,
        }
    return {
        "pyproject.toml": PYPROJECT.format(**words),
        f"src/{names.module}/__init__.py": plugin,
        f"src/{names.module}/py.typed": "",
        f"tests/test_{names.module}.py": test,
        **beside,
    }


def _plugin(points: Sequence[str], words: dict[str, str]) -> str:
    samples = [SAMPLES[point] for point in points]
    imported = {name for sample in samples for name in (sample.base, *sample.imports)}
    code = PLUGIN.format(
        **words,
        imports=_imports(sorted(imported, key=_order)),
        bases=_bases(words["cls"], [sample.base for sample in samples]),
        hooks="".join(sample.code for sample in samples),
    )
    return code if "filter" in points else _without_reason(code)


def _test(points: Sequence[str], words: dict[str, str]) -> str:
    more = FILTER_TEST if "filter" in points else ""
    more += SCORE_TEST if "score" in points else ""
    tested = f"REFUSED, {words['cls']}" if "filter" in points else words["cls"]
    return TEST.format(**words, tested=tested, more=dedent(more).format(**words))


def _without_reason(code: str) -> str:
    return "".join(
        line for line in code.splitlines(keepends=True) if not line.startswith("REFUSED")
    ).replace("\n\n\n\n", "\n\n\n")


def _imports(names: list[str]) -> str:
    line = ", ".join(names)
    if len(f"from moorage import {line}") <= WIDTH:
        return line
    return "(\n" + "".join(f"    {name},\n" for name in names) + ")"


def _bases(cls: str, bases: list[str]) -> str:
    line = ", ".join([*bases, "frozen=True"])
    if len(f"class {cls}({line}):") <= WIDTH:
        return line
    return "\n" + "".join(f"    {base},\n" for base in [*bases, "frozen=True"])


def _order(name: str) -> tuple[int, str]:
    """The sort key of imported names: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name.lower()
