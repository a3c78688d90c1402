"""Every Python block of the documentation runs, top to bottom, as a reader would type it."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_CODE = [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path) -> None:
    text = page.read_text()
    scope: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        code = "\n" * line + block.group(1)
        exec(compile(code, str(page), "exec"), scope)


def test_the_page_on_plugins_has_code() -> None:
    assert DOCS / "plugins.md" in WITH_CODE
