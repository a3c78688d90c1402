"""What docs/explain.md shows is what the commands show."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explain.md"
BLOCKS = re.findall(r"^```console\n\$ moorage (.*?)\n(.*?)^```$", PAGE.read_text(), re.S | re.M)


def test_the_page_shows_every_command() -> None:
    assert {command.split()[0] for command, _ in BLOCKS} == {"explain", "whatif", "capacity"}


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_the_page_quotes_the_command(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    told = CliRunner().invoke(main, shlex.split(command), env={"COLUMNS": "100"})

    assert told.exit_code == 0, told.output
    assert [line.rstrip() for line in told.output.rstrip().splitlines()] == shown.splitlines()
