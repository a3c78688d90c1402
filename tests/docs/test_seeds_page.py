"""docs/seeds.md names modules and tests that exist, and leaves no document and no section out."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

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


@pytest.mark.parametrize("where", sorted({row.where for row in ROWS}))
def test_every_module_exists(where: str) -> None:
    assert (ROOT / where).is_file()


@pytest.mark.parametrize("test", sorted({row.test for row in ROWS}))
def test_every_test_exists(test: str) -> None:
    path, _, name = test.partition("::")

    assert name in functions(path)


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
