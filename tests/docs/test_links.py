"""Links between pages lead somewhere."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
    *sorted((ROOT / ".github").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def broken_links(page: Path) -> list[str]:
    missing = [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()]
    return [f"{page.name}: {to}" for to in missing]


def test_every_link_of_a_page_leads_to_a_file() -> None:
    assert [link for page in PAGES for link in broken_links(page)] == []


@cache
def anchors(page: Path) -> set[str]:
    """What can be linked to: headings, as GitHub names them, and places that have an id."""
    text = CODE.sub("", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


def broken_anchors(page: Path) -> list[str]:
    linked = ANCHOR.findall(CODE.sub("", page.read_text()))
    targets = [(page.parent / to if to else page, anchor) for to, anchor in linked]
    return [
        f"{page.name}: {target.name}#{anchor}"
        for target, anchor in targets
        if anchor not in anchors(target)
    ]


def test_every_anchor_that_a_page_links_to_is_there() -> None:
    assert [anchor for page in PAGES for anchor in broken_anchors(page)] == []


def test_what_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text('# A heading\n\n<a id="place">\n')
    page.write_text(
        "[1](other.md) [2](gone.md) [3](other.md#a-heading) [4](other.md#place) "
        "[5](other.md#no-heading) [6](#none) [7](https://example.com/gone)\n"
    )

    assert broken_links(page) == ["page.md: gone.md"]
    assert broken_anchors(page) == ["page.md: other.md#no-heading", "page.md: page.md#none"]


def test_the_readme_leads_to_every_page() -> None:
    linked = {(ROOT / to).resolve() for to in LINK.findall((ROOT / "README.md").read_text())}
    pages = sorted((ROOT / "docs").glob("*.md"))

    assert [page.name for page in pages if page not in linked] == []
