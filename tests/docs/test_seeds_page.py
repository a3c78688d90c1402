"""docs/seeds.md names modules and tests that exist, and leaves no document and no section out."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.data import DATA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")


class Row(NamedTuple):
    seed: str
    section: str
    thing: str
    where: str
    test: str


def rows() -> list[Row]:
    found, seed = [], ""
    for line in PAGE.splitlines():
        heading = re.match(r"## (\d{3}): ", line)
        seed = heading.group(1) if heading else seed
        cells = re.fullmatch(r"\| ([\d.]+) \| (.+?) \| `(\S+)` \| `(\S+)` \|", line)
        if cells:
            found.append(Row(seed, *cells.groups()))
    return found


ROWS = rows()


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    methods = {
        f"{group.name}::{each.name}"
        for group in classes
        for each in group.body
        if isinstance(each, kinds)
    }
    return frozenset(each.name for each in tree.body if isinstance(each, kinds)) | methods


def test_every_line_of_a_table_is_a_row() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    headings = [line for line in lines if line.startswith("| section |")]

    assert len(lines) - len(headings) == len(ROWS) >= 235


def test_no_two_rows_are_of_one_thing() -> None:
    assert len({row[:3] for row in ROWS}) == len(ROWS)


def exists(test: str) -> bool:
    """Whether a test is where it is said to be, as `path::function` or `path::Class::method`."""
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and name in functions(path)


def test_every_module_exists() -> None:
    assert sorted({row.where for row in ROWS if not (ROOT / row.where).is_file()}) == []


def test_every_test_exists() -> None:
    assert sorted({row.test for row in ROWS if not exists(row.test)}) == []


def test_a_test_that_is_not_there_is_noticed() -> None:
    here = "tests/docs/test_seeds_page.py"

    assert exists(f"{here}::test_every_test_exists")
    assert not exists(f"{here}::test_that_was_renamed")
    assert not exists("tests/docs/test_that_was_moved.py::test_every_test_exists")
    assert not exists(here)


SECTIONS = [
    tuple(line.split())
    for line in (DATA / "seeds" / "sections.txt").read_text(encoding="utf-8").splitlines()
]
"""Those that show YAML or code: a document and the section's number."""


def test_every_document_is_there() -> None:
    assert {row.seed for row in ROWS} == {seed for seed, _ in SECTIONS}


def test_every_section_with_code_is_there() -> None:
    """A section, by its number, that shows YAML or code has a row."""
    missing = [
        (seed, number)
        for seed, number in SECTIONS
        if not any(
            row.seed == seed and (row.section == number or row.section.startswith(f"{number}."))
            for row in ROWS
        )
    ]

    assert len(SECTIONS) == 60
    assert missing == []
