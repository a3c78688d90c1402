"""Prometheus scrapes a scheduler whose certificate it verifies, as the manifests tell it to."""

import contextlib
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.tools import of_kind
from tests.integration.control_plane import LOOPBACK, ControlPlane, free_ports
from tests.integration.harness import wait_for
from tests.integration.test_serving import serving
from tests.unit.serve.test_tls_terms import authority, openssl

pytestmark = [
    pytest.mark.kube,
    pytest.mark.skipif(
        shutil.which("prometheus") is None,
        reason="no prometheus: install Debian's package prometheus",
    ),
]
OVERLAY = "overlays/verified-metrics"


def endpoint() -> dict[str, Any]:
    [monitor] = of_kind(OVERLAY, "ServiceMonitor")
    [found] = monitor["spec"]["endpoints"]
    return dict(found)


def serving_certificate(folder: Path, by: tuple[Path, Path]) -> tuple[Path, Path]:
    """What cert-manager would make of the Certificate."""
    [asked] = [
        each["spec"]
        for each in of_kind(OVERLAY, "Certificate")
        if each["metadata"]["name"] == "moorage-serving-cert"
    ]
    request, cert, key, names = (folder / f"serving.{end}" for end in ("csr", "crt", "key", "ext"))
    names.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in asked["dnsNames"]))
    made = ("-subj", "/CN=moorage", "-keyout", key, "-out", request)
    openssl("req", "-newkey", "rsa:2048", "-nodes", *made)
    signer = ("-CA", by[0], "-CAkey", by[1], "-CAcreateserial", "-extfile", names)
    openssl("x509", "-req", "-in", request, *signer, "-days", "2", "-out", cert)
    return cert, key


@contextlib.contextmanager
def prometheus(folder: Path, target: int, ca: Path, token: str) -> Iterator[int]:
    """A Prometheus that scrapes as the ServiceMonitor says, with that authority."""
    (port,) = free_ports(1)
    (folder / "token").write_text(token)
    terms = endpoint()
    tls = {
        "ca_file": str(ca),
        "server_name": terms["tlsConfig"]["serverName"],
        "insecure_skip_verify": terms["tlsConfig"]["insecureSkipVerify"],
    }
    job = {
        "job_name": "moorage",
        "scheme": terms["scheme"],
        "metrics_path": terms["path"],
        "scrape_interval": "1s",
        "scrape_timeout": "1s",
        "tls_config": tls,
        "authorization": {"credentials_file": str(folder / "token")},
        "static_configs": [{"targets": [f"{LOOPBACK}:{target}"]}],
    }
    config = folder / "prometheus.yaml"
    config.write_text(yaml.safe_dump({"scrape_configs": [job]}))
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    with open(folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address={LOOPBACK}:{port}"], stdout=log, stderr=log
        )
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def up(port: int) -> str | None:
    """What Prometheus has found the target to be."""
    url = f"http://{LOOPBACK}:{port}/api/v1/query?query=up"
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        found = json.load(answer)["data"]["result"]
        return str(found[0]["value"][1]) if found else None
    return None


@pytest.mark.parametrize(
    ("known", "want"), [(True, "1"), (False, "0")], ids=["its authority", "another authority"]
)
def test_the_target_is_up_by_its_own_authority_only(
    plane: ControlPlane, tmp_path: Path, known: bool, want: str
) -> None:
    signer, stranger = authority(tmp_path, "signer"), authority(tmp_path, "stranger")
    cert, key = serving_certificate(tmp_path, signer)
    flags = (f"--tls-cert-file={cert}", f"--tls-private-key-file={key}")
    with serving(tmp_path, plane.kubeconfig, *flags) as (_, port):
        ca = signer[0] if known else stranger[0]
        with prometheus(tmp_path, port, ca, plane.token) as asked:
            log = tmp_path / "prometheus.log"
            wait_for(lambda: up(asked) == want, f"up is never {want}: see {log}", 30)
