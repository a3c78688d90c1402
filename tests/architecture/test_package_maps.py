"""Every package says what it is, by which law it lives, and names each of its modules."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.module_graph import SOURCES, modules

ROW = re.compile(r"^ {4}([a-z_]\w*) {2,}\S", re.MULTILINE)
"""A line of a map: four spaces, the module's name, at least two spaces, what it is."""


def inside(package: Path) -> set[str]:
    """The modules and packages of a folder, compiled ones included."""
    files = (*package.glob("*.py"), *package.glob("*.pyi"))
    folders = {each.parent.name for each in package.glob("*/__init__.py")}
    return {each.stem for each in files if each.stem != "__init__"} | folders


def faults_of_a_map(text: str, modules: set[str]) -> list[str]:
    """What is wrong with the docstring of a package that has these modules."""
    named = ROW.findall(text)
    return [
        *(f"{each}: to be named in the package's docstring" for each in modules - set(named)),
        *(f"{each}: named there, and not to be found" for each in set(named) - modules),
        *(f"{each}: named twice" for each in set(named) if named.count(each) > 1),
        *([] if "Law of the package" in text else ["no law of the package"]),
    ]


def opens_with_a_sentence(source: str) -> bool:
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.split("\n\n")[0].endswith((".", "?"))


def test_every_package_names_its_modules_and_no_others() -> None:
    packages = {path.parent for path in modules().values() if path.name == "__init__.py"}
    faults = []
    for folder in packages:
        tree = ast.parse((folder / "__init__.py").read_text())
        text = ast.get_docstring(tree, clean=False) or ""
        name = folder.relative_to(SOURCES)
        faults += [f"{name}: {fault}" for fault in faults_of_a_map(text, inside(folder))]

    assert len(packages) > 20
    assert sorted(faults) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("    a  one\n", "b: to be named in the package's docstring", id="left out"),
        pytest.param(
            "    a  1\n    b  2\n    c  3\n", "c: named there, and not to be found", id="gone"
        ),
        pytest.param("    a  1\n    b  2\n    a  3\n", "a: named twice", id="twice"),
    ],
)
def test_a_wrong_map_is_noticed(text: str, fault: str) -> None:
    assert faults_of_a_map(f"Law of the package: none.\n{text}", {"a", "b"}) == [fault]
    assert fault in faults_of_a_map(text, {"a", "b"})
    assert "no law of the package" in faults_of_a_map(text, {"a", "b"})


def test_every_module_opens_with_one_plain_sentence() -> None:
    found = modules()

    assert len(found) > 500
    assert [
        n for n, path in sorted(found.items()) if not opens_with_a_sentence(path.read_text())
    ] == []


def test_a_module_without_a_sentence_is_noticed() -> None:
    assert opens_with_a_sentence('"""A sentence.\n\nAnd more"""')
    assert not opens_with_a_sentence('"""No sentence\n\nBut here."""')
    assert not opens_with_a_sentence("x = 1")
