"""The threat model names a test for each claim, and each of them exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


def exists(file: str, name: str) -> bool:
    """Whether the file is there, and has a test of that name if one is named."""
    if not (ROOT / file).is_file():
        return False
    tree = ast.parse((ROOT / file).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return not name or name in {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_test_that_is_named_exists() -> None:
    assert len(NAMED) > 40
    assert [f"{file}::{name}" for file, name in NAMED if not exists(file, name)] == []


def test_a_test_that_is_not_there_is_noticed() -> None:
    here = "tests/docs/test_security_page.py"

    assert exists(here, "")
    assert exists(here, "test_every_claim_names_one")
    assert not exists(here, "test_that_was_renamed")
    assert not exists("tests/docs/test_that_was_moved.py", "")


def test_every_claim_names_one() -> None:
    enforced = PAGE.split("## What is enforced")[1].split("## What is not defended")[0]
    rows = [line for line in enforced.splitlines() if line.startswith("| ")]
    claims = [row for row in rows if not row.startswith("| claim")]

    assert len(claims) > 20
    assert [row for row in claims if "`tests/" not in row] == []


def test_people_are_told_where_to_report() -> None:
    assert "docs/security.md" in (ROOT / ".github" / "SECURITY.md").read_text()
    assert "SECURITY.md" in PAGE
