"""`--server`: what is wrong is named by its option before anybody is asked; nothing is ignored."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.cli.server_question import RunningServer
from tests.unit.cli.command import CLUSTER

URL = "https://localhost:10259"


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def must_not_ask(*given: object) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(RunningServer, "_post", must_not_ask)


def refusal(folder: Path, *words: str) -> str:
    """What is said; FILE is a manifest of a cluster, NONE a file that is not there."""
    (folder / "all.yaml").write_text(CLUSTER)
    places = {"FILE": str(folder / "all.yaml"), "NONE": str(folder / "none")}

    told = CliRunner().invoke(main, [places.get(word, word) for word in words])

    assert (told.exit_code, told.stdout) == (2, ""), told.output
    return told.stderr.replace(str(folder), "")


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
        pytest.param(
            ("--server", "http://127.0.0.1:1", "--token-file", "FILE"),
            "--token-file: --server http:// would be sent the token in clear text: write https://",
            id="a token in clear text",
        ),
        pytest.param(
            ("--server", "HTTP://127.0.0.1:1", "--token-file", "FILE"),
            "would be sent the token in clear text",
            id="in clear text, in capitals",
        ),
        pytest.param(
            ("--server", URL, "--certificate-authority", "FILE", "--insecure-skip-tls-verify"),
            "--certificate-authority: specifying a root certificates file with the insecure flag",
            id="an authority that is not asked",
        ),
        pytest.param(("--token-file", "NONE"), "--token-file: it goes with --server", id="alone"),
    ],
)
@pytest.mark.usefixtures("nobody_is_asked")
def test_refusals(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in refusal(tmp_path, "explain", *words, "default/web")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--server", URL), id="a running Moorage"),
        pytest.param(("--server", URL, "--token-file", "NONE"), id="with a token"),
        pytest.param(("--insecure-skip-tls-verify", "--server", URL), id="of no certificate"),
    ],
)
@pytest.mark.parametrize(
    "command", [("whatif", "--drain", "a"), ("capacity", "--pod", "FILE")], ids=lambda each: each[0]
)
@pytest.mark.usefixtures("nobody_is_asked")
def test_what_if_is_asked_with_ones_own_rights(
    tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    said = refusal(tmp_path, *command, *words)

    assert f"`moorage {command[0]} --context CONTEXT` reads the cluster with your own" in said
