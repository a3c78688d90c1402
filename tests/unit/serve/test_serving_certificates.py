"""TLS from files, or signed by ourselves."""

import os
import shutil
from pathlib import Path

import pytest

from moorage.serve.secure_serving import (
    CertificateError,
    Certificates,
    ServerTls,
    write_self_signed,
)

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    cert, key = folder / "tls.crt", folder / "tls.key"
    write_self_signed(cert, key, "10.1.2.3")
    return cert, key


def test_a_certificate_of_our_own_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    tls = ServerTls(Certificates(), "0.0.0.0")

    assert list(tmp_path.iterdir()) == []
    assert not tls.refresh()


def test_a_certificate_kept_in_a_folder_is_used_again(tmp_path: Path) -> None:
    given = Certificates(cert_dir=str(tmp_path / "certs"))
    ServerTls(given, "127.0.0.1")
    made = (tmp_path / "certs" / "moorage.crt").read_text()

    ServerTls(given, "127.0.0.1")

    assert (tmp_path / "certs" / "moorage.crt").read_text() == made
    assert (tmp_path / "certs" / "moorage.key").stat().st_mode & 0o077 == 0


def test_files_are_read_again_when_they_have_changed(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    cert, key = (shutil.copy(file, tmp_path) for file in pair)
    tls = ServerTls(Certificates(str(cert), str(key)), "0.0.0.0")

    assert not tls.refresh()
    os.utime(cert, (1, 1))
    assert tls.refresh()
    assert not tls.refresh()


def test_files_that_are_broken_are_named(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    broken = tmp_path / "broken.crt"
    broken.write_text("not a certificate")

    with pytest.raises(CertificateError, match=r"broken\.crt"):
        ServerTls(Certificates(str(broken), str(pair[1])), "0.0.0.0")


def test_a_certificate_needs_its_key(pair: tuple[Path, Path]) -> None:
    with pytest.raises(CertificateError, match="both a certificate file and a key file"):
        ServerTls(Certificates(cert_file=str(pair[0])), "0.0.0.0")


def test_without_openssl_the_remedy_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(CertificateError, match="install it, or give certificate files"):
        write_self_signed(tmp_path / "a", tmp_path / "b", "0.0.0.0")
