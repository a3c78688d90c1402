"""Every Python block of the documentation runs, top to bottom, as a reader would type it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, PAGES, blocks, name

WITH_CODE = [page for page in PAGES if any(blocks(page, "python"))]


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the files of a page, from which they can be imported."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for module in set(sys.modules) - before:
        if (tmp_path / f"{module}.py").is_file():
            del sys.modules[module]


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs(page: Path, saved: Path) -> None:
    scope: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    for block in blocks(page, "python"):
        if block.file:
            (saved / block.file).write_text(block.code)
        code = "\n" * block.line + block.code
        exec(compile(code, str(page), "exec"), scope)


def test_the_page_on_plugins_has_code() -> None:
    assert DOCS / "plugins.md" in WITH_CODE
