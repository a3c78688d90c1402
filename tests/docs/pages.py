"""The pages of the documentation, and the blocks of code in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """Code in a page; `file` is the name it is to be saved under, if it is one."""

    language: str
    code: str
    line: int
    file: str


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        if found["language"] in languages:
            line = text[: found.start("code")].count("\n")
            yield Block(found["language"], found["code"], line, found["file"] or "")


def name(page: Path) -> str:
    return str(page.relative_to(DOCS))
