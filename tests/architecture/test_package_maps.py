"""Every package says what it is, by which law it lives, and names each of its modules."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.module_graph import SOURCES, modules

ROW = re.compile(r"^ {4}([a-z_]\w*) {2,}\S", re.MULTILINE)
"""A line of a map: four spaces, the module's name, at least two spaces, what it is."""

PACKAGES = sorted(name for name, path in modules().items() if path.name == "__init__.py")


def inside(package: Path) -> set[str]:
    """The modules and packages of a folder, compiled ones included."""
    files = (*package.glob("*.py"), *package.glob("*.pyi"))
    folders = {each.parent.name for each in package.glob("*/__init__.py")}
    return {each.stem for each in files if each.stem != "__init__"} | folders


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_names_its_modules_and_no_others(name: str) -> None:
    folder = SOURCES.joinpath(*name.split("."))
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()), clean=False) or ""
    named = ROW.findall(text)

    assert inside(folder) - set(named) == set(), "to be named in the package's docstring"
    assert sorted(set(named) - inside(folder)) == [], "named there, and not to be found"
    assert len(named) == len(set(named))
    assert "Law of the package" in text


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_opens_with_one_plain_sentence(name: str) -> None:
    text = ast.get_docstring(ast.parse(modules()[name].read_text())) or ""
    first = text.split("\n\n")[0]

    assert first.endswith((".", "?")), f"{name}: {first!r}"
