"""Links between pages lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
    *sorted((ROOT / ".github").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    missing = [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()]

    assert missing == []


def anchors(page: Path) -> set[str]:
    """What can be linked to: headings, as GitHub names them, and places that have an id."""
    text = CODE.sub("", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_anchor_that_a_page_links_to_is_there(page: Path) -> None:
    linked = ANCHOR.findall(CODE.sub("", page.read_text()))
    targets = [(page.parent / to if to else page, anchor) for to, anchor in linked]
    missing = [
        f"{target.name}#{anchor}" for target, anchor in targets if anchor not in anchors(target)
    ]

    assert missing == []


def test_the_readme_leads_to_every_page() -> None:
    linked = {(ROOT / to).resolve() for to in LINK.findall((ROOT / "README.md").read_text())}
    pages = sorted((ROOT / "docs").glob("*.md"))

    assert [page.name for page in pages if page not in linked] == []
