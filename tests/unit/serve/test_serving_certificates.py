"""TLS from files, or signed by ourselves."""

import contextlib
import os
import shutil
import ssl
from pathlib import Path

import pytest

from moorage.serve.secure_serving import (
    CertificateError,
    Certificates,
    ServerTls,
    TlsTerms,
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


@pytest.mark.parametrize("left", ["no folder", "empty files"])
def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path, left: str) -> None:
    """A file where the folder should be; files that a full disk left empty."""
    folder = tmp_path / "certs"
    if left == "no folder":
        folder.write_text("")
    else:
        folder.mkdir()
        (folder / "moorage.crt").touch()
        (folder / "moorage.key").touch()

    with pytest.raises(CertificateError, match=r"certs: no certificate of our own"):
        ServerTls(Certificates(cert_dir=str(folder)), "127.0.0.1")


def test_files_are_read_again_when_they_have_changed(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    cert, key = (shutil.copy(file, tmp_path) for file in pair)
    tls = ServerTls(Certificates(str(cert), str(key)), "0.0.0.0")

    assert not tls.refresh()
    os.utime(cert, (1, 1))
    assert tls.refresh()
    assert not tls.refresh()


@pytest.mark.parametrize("broken", ["crt", "key"])
def test_what_is_broken_on_disk_leaves_the_certificate_before_in_use(
    tmp_path: Path, pair: tuple[Path, Path], broken: str
) -> None:
    """A new certificate beside the old key, say: OpenSSL takes the one and then misses the other,
    and nobody could connect any more, no kubelet's probe either."""
    cert, key = (Path(shutil.copy(file, tmp_path)) for file in pair)
    tls = ServerTls(Certificates(str(cert), str(key)), "0.0.0.0")
    shown = certificate_shown_by(tls)
    write_self_signed(tmp_path / "other.crt", tmp_path / "other.key", "10.1.2.3")
    os.replace(tmp_path / f"other.{broken}", tmp_path / f"tls.{broken}")

    with pytest.raises(CertificateError, match=r"tls\.crt"):
        tls.refresh()

    assert certificate_shown_by(tls) == shown


def test_a_certificate_for_other_names_is_read_again_too(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    cert, key = (str(shutil.copy(file, tmp_path)) for file in pair)
    by_name = TlsTerms(by_name=((cert, key, ("other.example",)),))
    tls = ServerTls(Certificates(str(pair[0]), str(pair[1]), terms=by_name), "0.0.0.0")
    before = certificate_shown_by(tls, "other.example")
    write_self_signed(Path(cert), Path(key), "10.1.2.3")

    assert tls.refresh()
    assert certificate_shown_by(tls, "other.example") != before
    assert certificate_shown_by(tls) == before


def certificate_shown_by(tls: ServerTls, name: str | None = None) -> bytes | None:
    """The certificate that a client is shown who asks for a name, by a handshake in memory."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(back, there, server_hostname=name)
    server = tls.context.wrap_bio(there, back, server_side=True)
    for end in (client, server, client, server):
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
    return client.getpeercert(binary_form=True)


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
