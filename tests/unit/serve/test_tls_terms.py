"""What TLS is spoken, and who callers with certificates are."""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from moorage.observe.prometheus_metrics import Metrics
from moorage.serve.client_certificates import (
    CaBundle,
    ClientCertificates,
    FrontProxy,
    refresh_certificates,
)
from moorage.serve.gate import Gate
from moorage.serve.health import Health
from moorage.serve.http_server import Server
from moorage.serve.request_authorizer import Authorizer
from moorage.serve.secure_serving import (
    CertificateError,
    Certificates,
    Listener,
    ServerTls,
    TlsTerms,
    write_self_signed,
)
from moorage.watch.api_resources import Resource

CURVE = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


def context_of(**terms: Any) -> ssl.SSLContext:
    return ServerTls(Certificates(terms=TlsTerms(**terms)), "127.0.0.1").context


def names(context: ssl.SSLContext) -> list[str]:
    return [cipher["name"] for cipher in context.get_ciphers()]


def test_tls_12_has_forward_secrecy_and_no_cbc() -> None:
    found = names(context_of())

    assert found
    assert all("GCM" in name or "CHACHA20" in name for name in found)
    assert all(name.startswith(("ECDHE-", "TLS_")) for name in found)


def test_suites_are_chosen_by_gos_names() -> None:
    found = names(context_of(suites=("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)))

    assert [name for name in found if not name.startswith("TLS_")] == [
        "ECDHE-RSA-AES128-GCM-SHA256"
    ]


def test_a_newer_version_may_be_asked_for() -> None:
    assert context_of(version="VersionTLS13").minimum_version is ssl.TLSVersion.TLSv1_3


def test_an_older_one_may_not() -> None:
    assert context_of(version="VersionTLS10").minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("terms", [{"version": "TLS9"}, {"suites": ("TLS_NULL",)}])
def test_what_does_not_exist_is_named(terms: dict[str, Any]) -> None:
    with pytest.raises(CertificateError, match="TLS"):
        context_of(**terms)


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def authority(folder: Path, name: str) -> tuple[Path, Path]:
    cert, key = folder / f"{name}.crt", folder / f"{name}.key"
    subject = ("-subj", f"/CN={name}", "-keyout", key, "-out", cert)
    openssl("req", "-x509", "-newkey", *CURVE, "-nodes", "-days", "2", *subject)
    return cert, key


def signed(folder: Path, by: tuple[Path, Path], subject: str) -> tuple[Path, Path]:
    name = subject.rpartition("=")[2]
    request, cert, key = (folder / f"{name}.{end}" for end in ("csr", "crt", "key"))
    asked = ("-subj", subject, "-keyout", key, "-out", request)
    openssl("req", "-newkey", *CURVE, "-nodes", *asked)
    by_whom = ("-CA", by[0], "-CAkey", by[1], "-CAcreateserial")
    openssl("x509", "-req", "-in", request, *by_whom, "-days", "2", "-out", cert)
    return cert, key


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages of the log about certificates."""
    found: list[str] = []
    told = "moorage.serve.client_certificates.say"
    monkeypatch.setattr(told, lambda level, message, **more: found.append(message))
    return found


async def reviews(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Only alice of the operators may look."""
    spec = obj["spec"]
    allowed = spec.get("user") == "alice" and "operators" in spec.get("groups", ())
    return {"status": {"allowed": allowed}}


@pytest.mark.parametrize(
    ("shown", "headers", "want"),
    [
        pytest.param("alice", {}, 200, id="a certificate names its user"),
        pytest.param("bob", {}, 403, id="another names another"),
        pytest.param("", {}, 403, id="none is anonymous"),
        pytest.param("proxy", {"X-Remote-User": "alice"}, 403, id="of no group"),
        pytest.param(
            "proxy",
            {"X-Remote-User": "alice", "X-Remote-Group": "operators"},
            200,
            id="a front proxy may speak for others",
        ),
        pytest.param(
            "impostor",
            {"X-Remote-User": "alice", "X-Remote-Group": "operators"},
            403,
            id="not every certificate of its authority is the proxy",
        ),
        pytest.param(
            "bob",
            {"X-Remote-User": "alice", "X-Remote-Group": "operators"},
            403,
            id="a client may not speak for others",
        ),
    ],
)
def test_callers_with_certificates(
    tmp_path: Path, shown: str, headers: dict[str, str], want: int
) -> None:
    clients, proxies = authority(tmp_path, "clients"), authority(tmp_path, "proxies")
    signer = clients if shown in ("alice", "bob") else proxies
    bundles = CaBundle(file=str(clients[0])), CaBundle(proxies[0].read_text())
    certificates = ClientCertificates(*bundles, FrontProxy(allowed_names=("proxy",)))
    gate = Gate(Authorizer(reviews), certificates=certificates)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if shown:
        context.load_cert_chain(*signed(tmp_path, signer, f"/O=operators/CN={shown}"))

    async def main() -> int:
        listener = Listener("127.0.0.1", 0, Certificates())
        made = Server([listener], health=Health(), metrics=Metrics(), configz=dict, gate=gate)
        async with made.serving(), aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{made.ports[0]}/metrics"
            async with session.get(url, headers=headers, ssl=context) as answer:
                return answer.status

    assert asyncio.run(main()) == want


def test_a_bundle_may_hold_more_than_certificates(tmp_path: Path) -> None:
    """Blocks of other kinds are skipped, as Go does, at first and when the file changes."""
    cert, key = tmp_path / "ca.crt", tmp_path / "ca.key"
    write_self_signed(cert, key, "ca")
    alone, file = cert.read_text(), tmp_path / "bundle.pem"
    file.write_text(alone)
    callers = ClientCertificates(CaBundle(file=str(file)))
    file.write_text(f"# a comment\n{key.read_text()}{alone}")

    refresh_certificates([], callers)

    assert callers.pem.split() == alone.split()
    assert len(callers._clients) == 1
    assert ClientCertificates(CaBundle(file=str(file))).pem == callers.pem


def test_another_name_is_shown_another_certificate(tmp_path: Path) -> None:
    cert, key = tmp_path / "other.crt", tmp_path / "other.key"
    write_self_signed(cert, key, "other.example")
    terms = TlsTerms(by_name=((str(cert), str(key), ("other.example",)),))
    shown: dict[str, bytes | None] = {}

    async def main() -> None:
        listener = Listener("127.0.0.1", 0, Certificates(terms=terms))
        made = Server([listener], health=Health(), metrics=Metrics(), configz=dict)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        async with made.serving():
            for name in ("other.example", "any.example"):
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", made.ports[0], ssl=context, server_hostname=name
                )
                shown[name] = writer.get_extra_info("ssl_object").getpeercert(True)
                writer.close()

    asyncio.run(main())

    assert shown["other.example"] == ssl.PEM_cert_to_DER_cert(cert.read_text())
    assert shown["any.example"] != shown["other.example"]


def caller(cert: Path, key: Path) -> ssl.SSLContext:
    """What a client connects with that shows this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(cert, key)
    return context


def shake_hands(
    tls: ServerTls, by: ssl.SSLContext, name: str = "", session: ssl.SSLSession | None = None
) -> tuple[bool, ssl.SSLSession | None]:
    """Whether the server knows the certificate of who connects, in memory; and the session."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = by.wrap_bio(back, there, server_hostname=name or None, session=session)
    server = tls.context.wrap_bio(there, back, server_side=True)
    try:
        for end in (client, server) * 2:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
        server.write(b"!")
        client.read(1)
    except ssl.SSLCertVerificationError:
        return False, None
    return bool(server.getpeercert()), client.session


@pytest.fixture(scope="module")
def renewed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Two authorities of one name, as when one is renewed, and a caller of each."""
    made = {}
    for generation in ("old", "new"):
        folder = tmp_path_factory.mktemp(generation)
        made[f"{generation} CA"] = authority(folder, "clients")
        made[generation] = signed(folder, made[f"{generation} CA"], "/O=operators/CN=alice")
    return made


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", ["", "other.example"])
def test_a_client_ca_is_read_again(
    tmp_path: Path,
    renewed: dict[str, tuple[Path, Path]],
    version: ssl.TLSVersion,
    name: str,
    said: list[str],
) -> None:
    """Callers of the one before are not known any more, by a session from before neither."""
    file = Path(shutil.copy(renewed["old CA"][0], tmp_path / "ca.crt"))
    write_self_signed(tmp_path / "other.crt", tmp_path / "other.key", "other.example")
    by_name = (str(tmp_path / "other.crt"), str(tmp_path / "other.key"), ("other.example",))
    tls = ServerTls(Certificates(terms=TlsTerms(by_name=(by_name,))), "127.0.0.1")
    callers = ClientCertificates(CaBundle(file=str(file)))
    tls.trust(callers.pem)
    old, new = caller(*renewed["old"]), caller(*renewed["new"])
    old.maximum_version = new.maximum_version = version
    known, session = shake_hands(tls, old, name)
    assert known
    assert not shake_hands(tls, new, name)[0]

    file.write_bytes(renewed["new CA"][0].read_bytes())
    refresh_certificates([tls], callers)

    assert shake_hands(tls, new, name)[0]
    assert not shake_hands(tls, old, name)[0]
    assert not shake_hands(tls, old, name, session)[0]
    assert said == ["Client CA read again"]


@pytest.mark.parametrize("content", ["no certificate", None])
def test_a_broken_client_ca_leaves_the_one_in_use_and_is_told_of_once(
    tmp_path: Path, renewed: dict[str, tuple[Path, Path]], content: str | None, said: list[str]
) -> None:
    file = Path(shutil.copy(renewed["old CA"][0], tmp_path / "ca.crt"))
    tls = ServerTls(Certificates(), "127.0.0.1")
    callers = ClientCertificates(CaBundle(file=str(file)))
    tls.trust(callers.pem)
    if content is None:
        file.unlink()
    else:
        file.write_text(content)

    for _ in range(3):
        refresh_certificates([tls], callers)

    assert said == ["Client CA not read again"]
    assert shake_hands(tls, caller(*renewed["old"]))[0]


def test_a_client_ca_that_is_read_again_waits_for_a_certificate_that_is_gone(
    tmp_path: Path, renewed: dict[str, tuple[Path, Path]], said: list[str]
) -> None:
    file = Path(shutil.copy(renewed["old CA"][0], tmp_path / "ca.crt"))
    tls = ServerTls(Certificates(cert_dir=str(tmp_path / "certs")), "127.0.0.1")
    callers = ClientCertificates(CaBundle(file=str(file)))
    tls.trust(callers.pem)
    shutil.copy(renewed["new CA"][0], file)
    (tmp_path / "certs").rename(tmp_path / "away")
    refresh_certificates([tls], callers)
    (tmp_path / "away").rename(tmp_path / "certs")

    refresh_certificates([tls], callers)

    assert said == ["Client CA read again", "Certificate not read again"]
    assert shake_hands(tls, caller(*renewed["new"]))[0]


@pytest.mark.parametrize("proxy", [False, True])
def test_who_calls_is_told_by_the_authority_that_was_read_last(
    tmp_path: Path, renewed: dict[str, tuple[Path, Path]], proxy: bool
) -> None:
    """Also on a connection from before; of clients and of front proxies."""
    file = Path(shutil.copy(renewed["old CA"][0], tmp_path / "ca.crt"))
    bundle = CaBundle(file=str(file))
    callers = ClientCertificates(*((CaBundle(), bundle) if proxy else (bundle,)))
    gate = Gate(Authorizer(reviews), certificates=callers)
    headers = {"X-Remote-User": "alice", "X-Remote-Group": "operators"} if proxy else {}
    old, new = caller(*renewed["old"]), caller(*renewed["new"])

    async def main() -> list[int]:
        listener = Listener("127.0.0.1", 0, Certificates())
        made = Server([listener], health=Health(), metrics=Metrics(), configz=dict, gate=gate)
        async with made.serving(), aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{made.ports[0]}/metrics"

            async def status(context: ssl.SSLContext) -> int:
                async with session.get(url, headers=headers, ssl=context) as answer:
                    return answer.status

            before = await status(old)
            shutil.copy(renewed["new CA"][0], file)
            made.refresh()
            return [before, await status(old), await status(new)]

    assert asyncio.run(main()) == [200, 403, 200]
