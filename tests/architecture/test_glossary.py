"""The glossary: each word once, in order, and at home in a module that exists."""

import itertools
import re

from tests.architecture.module_graph import ROOT, SOURCES

ROW = re.compile(r"^\| \*\*(?P<word>[^*]+)\*\*[^|]*\| (?P<what>[^|]+) \| `(?P<where>[^`]+)` \|$")
TABLE_LINES = [
    line
    for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
    if line.startswith("|") and not line.startswith(("| word", "|---"))
]


def rows() -> list[dict[str, str]]:
    found = [ROW.match(line) for line in TABLE_LINES]
    assert None not in found, "every row has a word, a sentence and a place"
    return [match.groupdict() for match in found if match]


def test_every_module_that_the_glossary_names_exists() -> None:
    missing = [row for row in rows() if not (SOURCES / "moorage" / row["where"]).exists()]

    assert missing == []


def test_every_word_is_there_once_and_in_order() -> None:
    words = [row["word"] for row in rows()]

    assert len(words) == len(set(words))
    breaks = [after for before, after in itertools.pairwise(words) if after < before]
    assert len(breaks) == 1, f"two tables, each in order of the alphabet: {breaks}"
