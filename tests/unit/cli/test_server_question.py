"""`--server`: what is wrong is named by its option before anybody is asked; nothing is ignored."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.cli.server_question import RunningServer
from tests.unit.cli.command import CLUSTER

URL = "https://localhost:10259"
COMMANDS = {
    "explain": ("explain",),
    "whatif": ("whatif", "--drain", "a"),
    "capacity": ("capacity", "--pod", "FILE"),
}
every_command = pytest.mark.parametrize("command", COMMANDS)


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def must_not_ask(*given: object) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(RunningServer, "_post", must_not_ask)


def refusal(folder: Path, command: str, *words: str) -> str:
    """What is said; FILE is a manifest of a cluster, NONE a file that is not there."""
    (folder / "all.yaml").write_text(CLUSTER)
    places = {"FILE": str(folder / "all.yaml"), "NONE": str(folder / "none")}
    pod = ["default/web"] if command == "explain" else []
    given = [places.get(word, word) for word in (*COMMANDS[command], *words)]

    told = CliRunner().invoke(main, [*given, *pod])

    assert (told.exit_code, told.stdout) == (2, ""), told.output
    return told.stderr.replace(str(folder), "")


@every_command
@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("--server", "foo"), "--server foo: not a URL", id="a word is no URL"),
        pytest.param(("--server", "ftp://a"), "--server ftp://a: not a URL", id="nor is FTP's"),
        pytest.param(("--server", "https://"), "--server https://: not", id="nor one of no host"),
        pytest.param(("--server", "https://a:99999"), "99999: not a", id="nor one of no port"),
        pytest.param(
            ("--server", URL, "--token-file", "NONE"),
            "error: --token-file /none: no such file",
            id="a token that is not there",
        ),
        pytest.param(
            ("--server", URL, "--token-file", "FILE"),
            "error: --token-file /all.yaml: not a token",
            id="a file that is no token",
        ),
        pytest.param(
            ("--server", URL, "--certificate-authority", "NONE"),
            "error: --certificate-authority /none: no such file",
            id="an authority that is not there",
        ),
        pytest.param(
            ("--server", URL, "--certificate-authority", "FILE"),
            "error: --certificate-authority /all.yaml: not a certificate",
            id="a file that is no certificate",
        ),
        pytest.param(("--server", URL, "FILE"), "error: /all.yaml: --server asks", id="a PATH"),
        pytest.param(
            ("--server", URL, "--config", "FILE"),
            "error: --config: --server asks",
            id="a configuration",
        ),
        pytest.param(("--token-file", "NONE"), "--token-file: it goes with --server", id="alone"),
    ],
)
@pytest.mark.usefixtures("nobody_is_asked")
def test_refusals(tmp_path: Path, command: str, words: tuple[str, ...], said: str) -> None:
    assert said in refusal(tmp_path, command, *words)
