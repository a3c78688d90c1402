"""A reader who types every command of a page as it stands, and saves every file that it shows.

The commands go to one shell, so that `cd` and an activated environment last. What this machine has
not got is stood in for: `docker` by a program that looks at what it is asked for (`docker.py`).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.docs.pages import ROOT, blocks

PROGRAMS: Final = ("make", ".", "pip", "moorage", "cd", "python3")
"""What begins each line of a block without a language that shows commands, and no output."""
LANGUAGES: Final = ("", "console", "python", "yaml", "dockerfile")
MARK: Final = "\x1e"
PIP: Final = ("PIP_CERT", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")
"""Where packages come from on this machine."""


class Step(NamedTuple):
    """A command, or a file to save and its text, and the line of the page."""

    line: int
    command: str
    file: str = ""


def steps(page: Path, since: str = "", until: str = "") -> list[Step]:
    """What a page lets its reader do, from one heading to another."""
    lines = page.read_text().splitlines()
    first = lines.index(since) if since else 0
    last = lines.index(until) if until else len(lines)
    return [step for step in _steps(page) if first <= step.line < last]


def _steps(page: Path) -> Iterator[Step]:
    for block in blocks(page, *LANGUAGES):
        if block.file:
            yield Step(block.line, block.code, block.file)
            continue
        lines = [line for line in block.code.splitlines() if line]
        if block.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        elif block.language or not all(line.split()[0] in PROGRAMS for line in lines):
            continue
        yield from (Step(block.line, line) for line in lines)


def clone(target: Path) -> Path:
    """What a clone of the repository holds, with what was not committed yet."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    told = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, told.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def environment(home: Path, *first: Path, **more: str) -> dict[str, str]:
    """That of a new user: an empty home, and the system's programs after those in `first`."""
    home.mkdir(parents=True, exist_ok=True)
    path = [*map(str, first), str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin"]
    kept = {name: os.environ[name] for name in PIP if name in os.environ}
    return {"HOME": str(home), "PATH": ":".join(path), "LANG": "C.UTF-8", **kept, **more}


def follow(done: Sequence[Step], folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Type the steps in a folder; what each command printed. The test fails where one does."""
    ran = subprocess.run(
        ["bash", "-e", "-c", "\n".join(_typed(done))],
        cwd=folder,
        env=dict(given),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    told = [each.partition("\n") for each in ran.stdout.split(MARK)[1:]]
    if ran.returncode:
        pytest.fail(f"exit code {ran.returncode} of:\n{told[-1][0]}\n{told[-1][2][-4000:]}")
    return {command: output for command, _, output in told}


def _typed(done: Iterable[Step]) -> Iterator[str]:
    for step in done:
        if step.file:
            yield f"cat > {step.file} <<'END OF {step.file}'\n{step.command}END OF {step.file}"
        else:
            yield f"cat <<'END'\n{MARK}{step.command}\nEND\n{step.command}"
