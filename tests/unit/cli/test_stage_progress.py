"""A bar on a terminal, where work takes longer than a second; nothing anywhere else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.bad_plugins import configuration, source
from tests.unit.cli.command import CLUSTER, ROOT

SLOW = "__import__('time').sleep(0.4); return None"


PROGRAM = (
    "from moorage.cli import main, stage_progress\n"
    "stage_progress.PATIENCE_SECONDS = {}\n"
    "main.main()"
)


def simulate(folder: Path, *options: str, patience: float = 1.0) -> tuple[str, str, int]:
    """What it prints, what a terminal shows, and the exit code."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", PROGRAM.format(patience)]
    command = [*program, "simulate", str(folder / "all.yaml"), *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=env, text=True)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    printed, _ = process.communicate(timeout=60)
    return printed, shown.decode(), process.returncode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pods = [CLUSTER.split("---")[1].replace("web", f"web-{i}") for i in range(6)]
    (tmp_path / "all.yaml").write_text("---".join([CLUSTER.split("---")[0], *pods]))
    (tmp_path / "slow.py").write_text(source("filter", SLOW))
    (tmp_path / "conf.yaml").write_text(configuration("filter"))
    return tmp_path


def slowly(folder: Path) -> tuple[str, ...]:
    return "--config", str(folder / "conf.yaml"), "--plugin", str(folder / "slow.py")


def test_slow_work_shows_how_far_it_is(folder: Path) -> None:
    printed, shown, code = simulate(folder, *slowly(folder), "-o", "csv")

    assert code == 0, shown
    assert "scheduling pods" in shown
    assert "/6" in shown
    assert "scheduling pods" not in printed


def test_quick_work_shows_no_bar(folder: Path) -> None:
    _, shown, code = simulate(folder, "-o", "csv", patience=60.0)

    assert (code, shown) == (0, "")


def test_nothing_is_shown_where_there_is_no_terminal(folder: Path) -> None:
    command = [sys.executable, "-m", "moorage", "simulate", str(folder / "all.yaml")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run(
        [*command, *slowly(folder)], env=env, capture_output=True, text=True, timeout=60
    )

    assert (told.returncode, told.stderr) == (0, "")
