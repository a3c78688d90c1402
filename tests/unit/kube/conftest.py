"""A server that proves itself."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificate `crt` of localhost, and its `key`."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl, which makes the certificates of these tests: install it")
    folder = tmp_path_factory.mktemp("certified")
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "crt")]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", *curve, "-days", "1", *named, *files]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def certified(certificate: Path) -> ssl.SSLContext:
    """How a server proves itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "crt", certificate / "key")
    return context
