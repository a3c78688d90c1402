"""Files that commands make: nobody else reads them, or chooses where they are written."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.app.output_files import write_private
from moorage.cli.main import main
from moorage.config.field_errors import InputError
from moorage.shadow.journal import Journal


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("before")
    file.chmod(0o644)

    write_private(file, b"after")

    assert file.read_text() == "after"
    assert (mode(file), os.listdir(tmp_path)) == (0o600, ["report.html"])


@pytest.mark.parametrize("planted", ["report.html", ".report.html.part"])
def test_a_link_that_somebody_has_put_there_leads_nowhere(tmp_path: Path, planted: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / planted).symlink_to(precious)

    write_private(tmp_path / "report.html", b"page")

    assert (precious.read_text(), (tmp_path / "report.html").read_text()) == ("mine", "page")
    assert not (tmp_path / "report.html").is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        write_private(f"/dev/fd/{writing}", b"page")

        assert os.read(reading, 10) == b"page"
    finally:
        os.close(reading)
        os.close(writing)


def test_what_cannot_be_written_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)

    with pytest.raises(OSError, match="No space"):
        write_private(tmp_path / "report.html", b"page")

    assert os.listdir(tmp_path) == []


CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: "app:1"}]}
"""


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(["run", "--write-config-to"], id="run"),
        pytest.param(["replay", "made", "--until", "#1", "--snapshot"], id="replay"),
    ],
)
def test_commands_follow_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(CLUSTER)
    Path("precious").write_text("mine")
    Path("out.yaml").symlink_to("precious")
    made = CliRunner().invoke(main, ["simulate", "cluster.yaml", "--record", "made"])
    assert made.exit_code == 0, made.output

    done = CliRunner().invoke(main, [*written, "out.yaml"])

    assert done.exit_code == 0, done.output
    assert Path("precious").read_text() == "mine"
    assert "kind:" in Path("out.yaml").read_text()
    assert mode(Path("out.yaml")) == 0o600


def test_judgements_are_appended_to_no_link(tmp_path: Path) -> None:
    precious, planted = tmp_path / "precious", tmp_path / "judged.jsonl"
    precious.write_text("mine")
    planted.symlink_to(precious)

    with pytest.raises(InputError, match="name another file"):
        Journal(planted, lambda: 1.0)

    planted.unlink()
    Journal(planted, lambda: 1.0).close()
    assert [json.loads(line)["type"] for line in planted.read_text().splitlines()] == [
        "started",
        "ended",
    ]
    assert precious.read_text() == "mine"
