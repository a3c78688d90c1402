"""Options that would have no effect beside the others are refused, each by its name."""

from pathlib import Path

import pytest

from tests.unit.cli.command import CLUSTER, moorage


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["simulate", "cluster.yaml", "--http-port", "9000"],
            "--http-port: nothing is served without --serve",
        ),
        (
            ["replay", "kept", "--http-port", "9000"],
            "--http-port: nothing is served without --dashboard",
        ),
        (
            ["replay", "kept", "--until", "#1", "--config", "other.yaml", "--dashboard"],
            "--config compares: run --snapshot and --dashboard by themselves",
        ),
        (
            ["explain", "--recording", "kept", "--at", "#1", "--server", "https://localhost:10259"],
            "--server: --recording reads no cluster",
        ),
        (
            ["explain", "--recording", "kept", "--at", "#1", "--context", "staging"],
            "--context: --recording reads no cluster",
        ),
    ],
)
def test_they_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)

    answer = moorage(*words, cwd=tmp_path)

    assert (answer.returncode, answer.stderr) == (2, f"error: {said}\n")
