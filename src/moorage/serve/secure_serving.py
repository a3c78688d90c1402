"""Addresses to listen on and their certificates: TLS anywhere, plain HTTP on loopback only.

Changed files are read again, so that a certificate can be renewed under a running process.
"""

import ipaddress
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from moorage.serve import cipher_suites
from moorage.tls_trust import trusting

CERTIFICATE_NAME: Final = "moorage"
CERTIFICATE_DAYS: Final = 3650


class CertificateError(Exception):
    """A certificate that cannot be used or created."""


class TlsTerms(msgspec.Struct, frozen=True):
    """The minimum TLS version and the suites, by Go's names, and certificates for further names.

    `by_name` are (certificate, key, names) for callers who ask for one of the names (SNI).
    """

    version: str = ""
    suites: tuple[str, ...] = ()
    by_name: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


class Certificates(msgspec.Struct, frozen=True):
    """A certificate and its key, or the folder for a self-signed one, or neither."""

    cert_file: str = ""
    key_file: str = ""
    cert_dir: str = ""
    terms: TlsTerms = TlsTerms()


class ServerTls:
    """A TLS context; `refresh` reads its certificates again if their files have changed."""

    def __init__(self, certificates: Certificates, address: str) -> None:
        self._given = certificates
        if bool(certificates.cert_file) != bool(certificates.key_file):
            raise CertificateError("give both a certificate file and a key file, or neither")
        if certificates.cert_file:
            self._main = self._pair(certificates.cert_file, certificates.key_file)
        else:
            try:
                self._main = self._sign(address)
            except (OSError, ssl.SSLError) as error:
                where = certificates.cert_dir or "the folder for temporary files"
                raise CertificateError(f"{where}: no certificate of our own: {error}") from error
        self.context = self._main.context
        self._shown, self._by_name = [self._main], dict[str, _Shown]()
        for cert, key, names in certificates.terms.by_name:
            other = self._pair(cert, key)
            self._shown.append(other)
            self._by_name |= dict.fromkeys(names, other)
        if self._by_name:
            self.context.sni_callback = self._choose

    def refresh(self) -> bool:
        """Read changed files; returns whether any changed. Broken ones change nothing."""
        changed, problems = False, []
        for shown in self._shown:
            try:
                changed |= shown.refresh()
            except CertificateError as error:
                problems.append(str(error))
        if problems:
            raise CertificateError("; ".join(problems))
        return changed

    def trust(self, authorities: str) -> None:
        """From the next connection on, ask for certificates of these authorities (PEM) alone."""
        if not authorities:
            return
        self.context.verify_mode = ssl.CERT_OPTIONAL
        # A session that is resumed would stand for a certificate that is not checked again.
        self.context.options |= ssl.OP_NO_TICKET
        self.context.sni_callback = self._choose
        for shown in self._shown:
            shown.trust(authorities)

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Show the certificate for the name that is asked for, and trust whom it trusts."""
        parent = "*." + (name or "").partition(".")[2]
        shown = self._by_name.get(name or "") or self._by_name.get(parent) or self._main
        connection.context = shown.context

    def _pair(self, cert: str, key: str) -> "_Shown":
        return _Shown(self._given.terms, partial(_load_pair, (cert, key)), (cert, key))

    def _sign(self, address: str) -> "_Shown":
        if self._given.cert_dir:
            folder = Path(self._given.cert_dir)
            cert, key = folder / f"{CERTIFICATE_NAME}.crt", folder / f"{CERTIFICATE_NAME}.key"
            if not (cert.exists() and key.exists()):
                folder.mkdir(parents=True, exist_ok=True)
                write_self_signed(cert, key, address)
            return _Shown(self._given.terms, lambda context: context.load_cert_chain(cert, key))
        with tempfile.TemporaryDirectory() as scratch:
            cert, key = Path(scratch, "cert"), Path(scratch, "key")
            write_self_signed(cert, key, address)
            made = cert.read_text() + key.read_text()
        return _Shown(self._given.terms, partial(_load_text, made))


def _context(terms: TlsTerms) -> ssl.SSLContext:
    context = trusting(ssl.Purpose.CLIENT_AUTH)
    try:
        context.minimum_version = cipher_suites.min_version(terms.version)
        context.set_ciphers(cipher_suites.openssl_ciphers(terms.suites))
    except (ValueError, ssl.SSLError) as error:
        raise CertificateError(str(error)) from None
    return context


class _Shown:
    """A certificate in a context, which `load` puts there, again when one of its files changes.

    A context cannot forget an authority: for others than before, another context is made.
    """

    def __init__(
        self,
        terms: TlsTerms,
        load: Callable[[ssl.SSLContext], None],
        files: tuple[str, ...] = (),
    ) -> None:
        self.context = _context(terms)
        self._terms = terms
        self._load = load
        self._files = files
        self._trusted = ""
        self._read: tuple[float, ...] | None = None
        self.refresh()

    def refresh(self) -> bool:
        """Read the files if they have changed; whether they had."""
        try:
            changed = tuple(os.stat(file).st_mtime for file in self._files)
        except OSError as error:
            raise CertificateError(f"{', '.join(self._files)}: {error}") from error
        if changed == self._read:
            return False
        self._load(self.context)
        self._read = changed
        return True

    def trust(self, authorities: str) -> None:
        """Check the certificates of callers against these authorities, in PEM."""
        if authorities == self._trusted:
            return
        made = _context(self._terms)
        try:
            self._load(made)
        except OSError as error:  # an ssl.SSLError is one
            raise CertificateError(f"no other client CA is trusted yet: {error}") from error
        made.load_verify_locations(cadata=authorities)
        made.verify_mode = ssl.CERT_OPTIONAL
        self.context, self._trusted = made, authorities


def _load_pair(files: tuple[str, str], context: ssl.SSLContext) -> None:
    try:
        # Of two that do not match, the first would stay in the context: try them elsewhere.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
        context.load_cert_chain(*files)
    except (OSError, ssl.SSLError) as error:
        raise CertificateError(f"{', '.join(files)}: {error}") from error


def _load_text(pem: str, context: ssl.SSLContext) -> None:
    """Load a certificate and its key, which are kept in memory alone."""
    with tempfile.NamedTemporaryFile("w") as scratch:
        scratch.write(pem)
        scratch.flush()
        context.load_cert_chain(scratch.name)


def write_self_signed(cert: Path, key: Path, address: str) -> None:
    """Create a key and a self-signed certificate for it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise CertificateError(
            "there is no openssl to make a certificate with: install it, or give certificate files"
        )
    names = f"DNS:localhost,DNS:{CERTIFICATE_NAME},IP:127.0.0.1"
    if address not in ("", "0.0.0.0", "::", "127.0.0.1", "localhost"):
        names += f",{'IP' if ':' in address or address[-1].isdigit() else 'DNS'}:{address}"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command = [
        openssl,
        "req",
        "-x509",
        *curve,
        "-days",
        str(CERTIFICATE_DAYS),
        "-subj",
        f"/CN={CERTIFICATE_NAME}",
    ]
    command += ["-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(cert)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o077)
    if made.returncode:
        raise CertificateError(f"openssl could not make a certificate: {made.stderr.strip()}")


class ListenerError(Exception):
    """An address that must not be served in that way."""


class Listener(msgspec.Struct, frozen=True):
    """An address to listen on, with plain HTTP if `certificates` is None. Port 0: any free port."""

    address: str = "0.0.0.0"
    port: int = 10259
    certificates: Certificates | None = Certificates()
    share_port: bool = False

    def __post_init__(self) -> None:
        if self.certificates is None and not is_loopback(self.address):
            raise ListenerError(
                f"plain HTTP on {self.address}: serve TLS there, or listen on 127.0.0.1"
            )

    @property
    def trusted(self) -> bool:
        """Whether all callers are on this machine, and may see everything."""
        return self.certificates is None


def is_loopback(address: str) -> bool:
    """Whether an address can be reached only from this machine."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
