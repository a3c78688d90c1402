"""`moorage config check` says what cannot work before it is run."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}}}]",
            "at least one bind plugin is needed",
        ),
    ],
)
@pytest.mark.parametrize("command", [["config", "check"], ["simulate", "NODE", "--config"]])
def test_what_cannot_schedule_is_refused(
    tmp_path: Path, command: list[str], text: str, said: str
) -> None:
    (tmp_path / "c.yaml").write_text(HEAD + text)
    words = [str(tmp_path) if word == "NODE" else word for word in command]

    told = CliRunner().invoke(main, [*words, str(tmp_path / "c.yaml")])

    assert (told.exit_code, said in told.stderr) == (2, True), told.stderr


def test_an_address_of_an_extender_passes(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        f"{HEAD}extenders: [{{urlPrefix: 'https://x.y:8/z', filterVerb: f}}]"
    )

    assert CliRunner().invoke(main, ["config", "check", str(tmp_path / "c.yaml")]).exit_code == 0


@pytest.mark.parametrize("field", ["profiles", "extenders"])
def test_an_empty_item_is_said(tmp_path: Path, field: str) -> None:
    (tmp_path / "c.yaml").write_text(f"{HEAD}{field}: [null]")

    told = CliRunner().invoke(main, ["config", "check", str(tmp_path / "c.yaml")])

    assert f"warning: {tmp_path / 'c.yaml'}:3: {field}[0]: is empty" in told.stderr


@pytest.mark.parametrize("url", ["not a url", "ftp://x", "http://"])
def test_an_address_that_is_none_is_said(tmp_path: Path, url: str) -> None:
    (tmp_path / "c.yaml").write_text(f"{HEAD}extenders: [{{urlPrefix: '{url}', filterVerb: f}}]")

    told = CliRunner().invoke(main, ["config", "check", str(tmp_path / "c.yaml")])

    assert "is no URL: no call will reach this extender" in told.stderr
