"""Whatever is wrong with a file, a command says so in words: the file, no Python, exit code 2."""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from tests.unit.cli import malformed
from tests.unit.cli.malformed import Malformed

INPUTS = int(os.environ.get("MALFORMED_INPUTS", "102"))
SEED = int(os.environ.get("MALFORMED_SEED", "3"))
PYTHON = re.compile(
    r"Traceback|moorage is at fault|NoneType|\w+Error:|<class|<function|object at 0x|0x[0-9a-f]{8}"
    r"|'(str|int|float|dict|list|bool)'|`(str|int|float|dict|list|bool|object|array|null)`"
    r"|indices must be|not iterable|not subscriptable|unhashable|msgspec|\bNone\b"
)
SAID = ("error: ", "warning: ", "trial ")
GIVEN = {
    "GOOD": ("good.yaml", malformed.GOOD),
    "NODES": ("n.csv", malformed.NODES_CSV),
    "PODS": ("p.csv", malformed.PODS_CSV),
    "SPACE": ("s.yaml", malformed.SPACE),
    "CONFIG": ("c.yaml", malformed.CONFIGURATION),
    "MINE": ("mine.py", malformed.PLUGIN),
}
ELSEWHERE = ("no pod default/web", "http://127.0.0.1:9", "not a single pod was scheduled")
"""What is right as a file and comes to nothing."""


def run(folder: Path, given: Malformed) -> Result:
    (folder / given.name).write_bytes(given.content)
    places = {"BAD": given.name, **{word: name for word, (name, _) in GIVEN.items()}}
    words = [
        "=".join(str(folder / places[part]) if part in places else part for part in word.split("="))
        for word in given.command.split()
    ]
    return CliRunner().invoke(main, words)


def complaint(given: Malformed, told: Result) -> str:
    """What is wrong with how a command ended, or nothing."""
    lines = told.stderr.splitlines()
    if told.exit_code not in (0, 2):
        return f"exit code {told.exit_code}"
    if given.name != "plugin.py" and PYTHON.search(told.stderr):
        return "Python"
    if any(not line.startswith(SAID) for line in lines):
        return "a line that is neither an error nor a warning"
    if told.exit_code == 0:
        return ""
    named = given.name in told.stderr or any(words in told.stderr for words in ELSEWHERE)
    return "" if named else "the file is not named"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("malformed")
    for name, text in GIVEN.values():
        (made / name).write_text(text)
    return made


@pytest.mark.parametrize("name", malformed.KINDS)
def test_what_is_right_is_taken(folder: Path, name: str) -> None:
    kind = malformed.KINDS[name]
    for command in kind.commands:
        if "kubeconfig" not in command and "--args" not in command and "-node" not in command:
            told = run(folder, Malformed(name, kind.right.encode(), command))
            assert told.exit_code == 0, (command, told.output)


@pytest.mark.timeout(600)
def test_what_is_wrong_is_said(folder: Path) -> None:
    found = []
    for given in malformed.draw(INPUTS, SEED):
        told = run(folder, given)
        if why := complaint(given, told):
            found.append(f"{why}: {given.command}\n{told.stderr}\n{given.content[:3000]!r}")

    assert not found, "\n\n".join([f"{len(found)} of {INPUTS}", *found[:5]])
