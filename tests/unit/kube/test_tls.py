"""TLS contexts from files and data, and from files that change under a running process."""

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from moorage.kube.kubeconfig import Cluster, KubeconfigError, SelectedContext, User
from moorage.kube.tls import CHECK_SECONDS, Certificate, Tls

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None,
    reason="no openssl, which makes the certificates of these tests: install it",
)

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two certificates, `a` and `b`, each with its key."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in "ab":
        files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
        command = ["openssl", "req", "-x509", *CURVE, "-days", "1", "-subj", f"/CN={name}"]
        subprocess.run([*command, *files], check=True, capture_output=True)
    return folder


def selected(user: User | None = None, **cluster: object) -> SelectedContext:
    return SelectedContext("x", "one", "alice", Cluster(**cluster), user or User(), "file")  # type: ignore[arg-type]


def authorities(context: ssl.SSLContext) -> list[str]:
    """The names of those who vouch for the server."""
    return [str(part[0][1]) for ca in context.get_ca_certs() for part in ca["subject"]]


def test_the_servers_certificate_is_checked_against_the_given_authority(made: Path) -> None:
    context = Tls(selected(certificate_authority=str(made / "a.crt"))).context(0)

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert authorities(context) == ["a"]


def test_data_goes_before_files(made: Path) -> None:
    data = (made / "b.crt").read_bytes()
    tls = Tls(selected(certificate_authority=str(made / "a.crt"), certificate_authority_data=data))

    assert authorities(tls.context(0)) == ["b"]


def test_checks_can_be_left_out() -> None:
    context = Tls(selected(insecure_skip_tls_verify=True)).context(0)

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.parametrize("given", ["certificate_authority", "certificate_authority_data"])
def test_an_authority_that_would_not_be_asked_is_refused_as_client_go_does(
    made: Path, given: str
) -> None:
    file = made / "a.crt"
    ca: object = str(file) if given == "certificate_authority" else file.read_bytes()
    cluster = {"insecure_skip_tls_verify": True, given: ca}
    said = "specifying a root certificates file with the insecure flag is not allowed"

    with pytest.raises(KubeconfigError, match=said):
        Tls(selected(None, **cluster)).context(0)


def test_a_renewed_file_is_read_once_a_minute(made: Path, tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    renew(ca, made / "a.crt", 1)
    tls = Tls(selected(certificate_authority=str(ca)))
    first = tls.context(0)
    renew(ca, made / "b.crt", 2)

    assert tls.context(CHECK_SECONDS - 1) is first
    assert authorities(tls.context(CHECK_SECONDS)) == ["b"]


def test_files_that_did_not_change_give_the_same_context(made: Path) -> None:
    """Connections are shared by context: a new one would open them all anew."""
    tls = Tls(selected(certificate_authority=str(made / "a.crt")))

    assert tls.context(0) is tls.context(CHECK_SECONDS * 2)


def test_a_half_written_file_leaves_the_old_context_in_place(made: Path, tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    renew(ca, made / "a.crt", 1)
    tls = Tls(selected(certificate_authority=str(ca)))
    first = tls.context(0)
    ca.write_text("-----BEGIN CERT")
    os.utime(ca, (2, 2))

    assert tls.context(CHECK_SECONDS) is first
    renew(ca, made / "b.crt", 3)
    assert authorities(tls.context(CHECK_SECONDS * 2)) == ["b"]


def test_a_certificate_from_a_plugin_takes_the_place_of_a_configured_one(made: Path) -> None:
    tls = Tls(selected())
    given = Certificate((made / "a.crt").read_bytes(), (made / "a.key").read_bytes())
    first = tls.context(0, given)

    assert tls.context(1, given) is first
    other = Certificate((made / "b.crt").read_bytes(), (made / "b.key").read_bytes())
    assert tls.context(2, other) is not first


@pytest.mark.parametrize(
    ("cluster", "user", "want"),
    [
        pytest.param(
            {"certificate_authority": "/none"},
            {},
            "cluster 'one': certificate-authority: /none: No such file",
            id="an authority that is not there",
        ),
        pytest.param(
            {"certificate_authority_data": b"nonsense"},
            {},
            "cluster 'one': certificate-authority: not a PEM certificate",
            id="an authority that is none",
        ),
        pytest.param(
            {},
            {"client_certificate": "/none", "client_key": "/none"},
            "user 'alice': client-certificate: /none: No such file",
            id="a certificate that is not there",
        ),
        pytest.param(
            {},
            {"client_key_data": b"k"},
            "user 'alice': client-certificate: missing beside its other half",
            id="a key without its certificate",
        ),
        pytest.param(
            {},
            {"client_certificate_data": b"c", "client_key_data": b"k"},
            "user 'alice': client certificate and key:",
            id="a certificate that is none",
        ),
    ],
)
def test_what_is_wrong_is_named(
    cluster: dict[str, object], user: dict[str, object], want: str
) -> None:
    with pytest.raises(KubeconfigError) as caught:
        Tls(selected(User(**user), **cluster)).context(0)  # type: ignore[arg-type]

    assert str(caught.value).startswith(f"file: {want}")


def test_no_key_is_left_behind(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    user = User(client_certificate=str(made / "a.crt"), client_key=str(made / "a.key"))
    Tls(selected(user)).context(0)

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_the_old_context_in_place(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ssl reads certificates from files only, so that one is needed for a moment."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    cert, key = tmp_path / "crt", tmp_path / "key"
    shutil.copy(made / "a.crt", cert)
    shutil.copy(made / "a.key", key)
    tls = Tls(selected(User(client_certificate=str(cert), client_key=str(key))))
    with pytest.raises(KubeconfigError, match="client certificate and key: no room for a temp"):
        tls.context(0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = tls.context(61)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    renew(cert, made / "a.crt", 1)
    assert tls.context(122) is first


def renew(file: Path, source: Path, when: int) -> None:
    shutil.copy(source, file)
    os.utime(file, (when, when))
