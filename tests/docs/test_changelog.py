"""The changelog is a page that people read."""

import re
from pathlib import Path

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASES = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]


def test_a_release_is_a_page_of_lines_that_can_be_read() -> None:
    assert RELEASES
    assert [each.split()[0] for each in RELEASES if each.count("\n") > 140] == []
    assert [line for line in CHANGELOG.splitlines() if len(line) > 120] == []


def test_the_first_release_mends_nothing_that_anybody_had() -> None:
    first = RELEASES[-1]

    assert first.startswith("0.1.0")
    assert len(re.findall(r"^### ", first, re.MULTILINE)) > 5
    assert re.findall(r"\bfixed\b|no longer", first, re.IGNORECASE) == []


def test_no_area_and_no_line_is_there_twice() -> None:
    """As a merge that keeps the lines of both sides might leave it."""
    for release in RELEASES:
        lines = [line for line in release.splitlines() if line.startswith(("### ", "- "))]
        assert len(lines) > 10
        assert sorted(set(lines)) == sorted(lines)
