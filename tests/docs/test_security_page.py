"""The threat model names a test for each claim, and each of them exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_test_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text())
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    assert not name or name in found


def test_every_claim_names_one() -> None:
    enforced = PAGE.split("## What is enforced")[1].split("## What is not defended")[0]
    rows = [line for line in enforced.splitlines() if line.startswith("| ")]
    claims = [row for row in rows if not row.startswith("| claim")]

    assert len(claims) > 20
    assert [row for row in claims if "`tests/" not in row] == []


def test_people_are_told_where_to_report() -> None:
    assert "docs/security.md" in (ROOT / ".github" / "SECURITY.md").read_text()
    assert "SECURITY.md" in PAGE
