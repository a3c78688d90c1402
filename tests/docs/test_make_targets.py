"""`make help` shows the targets that matter and where the others are; pages name what exists."""

import re
import subprocess
from pathlib import Path

from tests.docs.pages import PAGES, ROOT

SIX = ["demo", "test", "check", "bench", "docs", "help"]
MAKEFILES = [ROOT / "Makefile", *sorted(ROOT.glob("*/*.mk"))]
NAMING = [*PAGES, ROOT / "README.md", ROOT / ".ci/run", *sorted((ROOT / ".github").glob("*.md"))]
NAMED = re.compile(r"(?:`|^)make ([a-z][a-z0-9-]*)", re.MULTILINE)


def phony(makefile: Path) -> set[str]:
    lines = re.findall(r"^\.PHONY: (.*)$", makefile.read_text(), re.MULTILINE)
    return {target for line in lines for target in line.split()}


def rules(makefile: Path) -> set[str]:
    lines = re.findall(r"^([a-z][a-z0-9 -]*):(?!=)", makefile.read_text(), re.MULTILINE)
    return {target for line in lines for target in line.split()}


def test_help_shows_six_targets_and_names_all_others_with_their_file() -> None:
    made = ["make", "--no-print-directory", "-C", str(ROOT), "help"]
    text = subprocess.run(made, capture_output=True, text=True, check=True).stdout
    first, _, rest = text.partition("\n\n")

    assert re.findall(r"^make (\S+) ", first, re.MULTILINE) == SIX
    for file in MAKEFILES[1:]:
        said = rest.split(f"{file.relative_to(ROOT)}:")[1].split(".mk:")[0]
        assert phony(file) <= set(said.split())


def test_every_target_is_declared_once_and_has_a_rule() -> None:
    declared = [target for file in MAKEFILES for target in sorted(phony(file))]

    assert len(declared) == len(set(declared)) > len(SIX)
    assert {target for file in MAKEFILES for target in rules(file)} == set(declared)


def test_every_target_that_a_page_names_exists() -> None:
    named = {(f.name, target) for f in NAMING for target in NAMED.findall(f.read_text())}
    known = {target for file in MAKEFILES for target in phony(file)}

    assert {"test", "kube-tests", "twin"} <= {target for _, target in named}
    assert sorted((page, target) for page, target in named if target not in known) == []
