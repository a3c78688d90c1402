"""Moorage asks Moorage over TLS, each with a certificate that the other one checks."""

import contextlib
import http.client
import json
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from tests.integration import extending
from tests.integration.extending import Serving, serving
from tests.integration.harness import wait_for

CHOOSING = Path(__file__).parents[2] / "examples" / "choosing"


class Authority:
    """Makes certificates for servers and clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cert, self.key = folder / "ca.crt", folder / "ca.key"
        self._openssl(
            *("req", "-x509", "-subj", "/CN=authority", "-days", "1", *CURVE),
            *("-keyout", self.key, "-out", self.cert),
        )

    def certify(self, name: str) -> tuple[Path, Path]:
        cert, key, asked = (self.folder / f"{name}.{kind}" for kind in ("crt", "key", "csr"))
        names = self.folder / f"{name}.names"
        names.write_text(f"subjectAltName=DNS:{name},IP:127.0.0.1\n")
        self._openssl("req", *CURVE, "-subj", f"/CN={name}", "-keyout", key, "-out", asked)
        self._openssl(
            *("x509", "-req", "-days", "1", "-CA", self.cert, "-CAkey", self.key),
            *("-CAcreateserial", "-extfile", names, "-in", asked, "-out", cert),
        )
        return cert, key

    def _openssl(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def simulate(extender: Serving, folder: Path, **tls: Any) -> dict[str, Any]:
    config = yaml.safe_load((CHOOSING / "extender" / "scheduler.yaml").read_text())
    config["extenders"][0]["urlPrefix"] = f"https://127.0.0.1:{extender.port}"
    config["extenders"][0]["tlsConfig"] = tls
    file = folder / "scheduler.yaml"
    file.write_text(yaml.safe_dump(config))
    manifests = [str(CHOOSING / "cluster.yaml"), str(CHOOSING / "pods.yaml")]
    given = ["simulate", *manifests, "--config", str(file), "-o", "json"]
    result = CliRunner().invoke(main, given)
    pods: dict[str, dict[str, Any]] = {
        pod["name"]: pod for pod in json.loads(result.stdout)["pods"]
    }
    return pods["shop"]


def test_only_clients_that_show_a_certificate_are_answered(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    served, shown = authority.certify("extender"), authority.certify("scheduler")
    with serving(
        tmp_path,
        f"--plugin={CHOOSING / 'rule.py'}",
        f"--tls-cert-file={served[0]}",
        f"--tls-private-key-file={served[1]}",
        f"--client-ca-file={authority.cert}",
    ) as extender:
        trusted = {"caFile": str(authority.cert)}
        certified = {**trusted, "certFile": str(shown[0]), "keyFile": str(shown[1])}
        assert simulate(extender, tmp_path, **certified)["node"] == "gold-new"
        assert "code 403" in simulate(extender, tmp_path, **trusted)["message"]
        assert asked(extender, "/readyz") == 200, "probes show no certificate"
        assert asked(extender, "/metrics") == 403


REFUSED = 0


def asked(extender: Serving, path: str, shown: tuple[Path, Path] | None = None) -> int:
    """The status of the answer; `REFUSED` where the certificate that is shown is."""
    context = ssl._create_unverified_context()
    if shown is not None:
        context.load_cert_chain(*shown)
    connection = http.client.HTTPSConnection("127.0.0.1", extender.port, context=context)
    with contextlib.closing(connection), contextlib.suppress(OSError):
        connection.request("GET", path)
        return connection.getresponse().status
    return REFUSED


OFTEN = """
from moorage.app import extender_process
from moorage.cli.main import main
extender_process.REFRESH_SECONDS = 0.05
main()
"""


def test_an_authority_that_is_replaced_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who shows a certificate of the one before is not known any more."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    file = shutil.copy(old.cert, tmp_path / "ca.crt")
    before, after = old.certify("scheduler"), new.certify("scheduler")
    often = (sys.executable, "-c", OFTEN, "extender", "serve")
    monkeypatch.setattr(extending, "_command", lambda *given: [*often, *given])
    rule = f"--plugin={CHOOSING / 'rule.py'}"
    with serving(tmp_path, rule, f"--client-ca-file={file}", "--no-cluster") as extender:
        assert asked(extender, "/metrics", before) == 200
        assert asked(extender, "/metrics", after) == REFUSED
        shutil.copy(new.cert, file)
        wait_for(lambda: asked(extender, "/metrics", after) == 200, "it is not read again")
        assert asked(extender, "/metrics", before) == REFUSED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param((), "nowhere.crt: No such file", id="that is not there"),
        pytest.param(("--http",), "--client-ca-file: of no use with --http", id="without TLS"),
    ],
)
def test_an_authority_of_no_use_is_named(given: tuple[str, ...], said: str) -> None:
    rule = f"--plugin={CHOOSING / 'rule.py'}"
    common = ["extender", "serve", rule, "--port=0", "--client-ca-file=nowhere.crt"]

    result = CliRunner().invoke(main, [*common, *given])

    assert result.exit_code == 2
    assert said in result.output
