"""Nothing in the repository looks for a file beside it."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("bench", "docs", "examples", "src", "tests")
UP = re.compile(r"__file__\)(?:\.resolve\(\))?\.parents\[(\d+)\](\.parent)?")


def above(file: Path, text: str) -> Iterator[str]:
    """Where a module takes a folder that is further up than the root."""
    depth = len(file.relative_to(ROOT).parents) - 1
    for found in UP.finditer(text):
        if int(found[1]) + bool(found[2]) > depth:
            yield f"{file.relative_to(ROOT)}: {found[0]}"
    if re.search(r"\bROOT\.parent\b", text):
        yield f"{file.relative_to(ROOT)}: ROOT.parent"


def test_no_module_takes_a_folder_above_the_root() -> None:
    here = Path(__file__)
    assert list(above(here, "Path(__file__).parents[2]")) == []
    assert len(list(above(here, "Path(__file__).resolve().parents[3] / 'shared'"))) == 1

    modules = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert len(modules) > 1000
    found = [each for file in modules for each in above(file, file.read_text(encoding="utf-8"))]
    assert [each for each in found if "test_nothing_outside" not in each] == []


def test_data_of_others_names_its_source_and_licence() -> None:
    folders = [path for path in (ROOT / "tests/data").iterdir() if (path / "README.md").is_file()]
    assert {folder.name for folder in folders} >= {"conformance", "prices", "seeds"}
    there = {path for path in (ROOT / "tests/data").glob("*/") if any(path.glob("*.*"))}
    assert {path for path in there if path.name != "__pycache__"} == set(folders)
    for folder in folders:
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert "**Source**: " in text
        assert "**Licence**: " in text
