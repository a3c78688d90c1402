"""TLS contexts for the API server, rebuilt when CA or client certificate files change."""

import ssl
import tempfile
from pathlib import Path
from typing import Final, cast

import msgspec

from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.tls_trust import trusting

CA_BUT_INSECURE: Final = "specifying a root certificates file with the insecure flag is not allowed"
CHECK_SECONDS: Final = 60.0
"""How often certificate files are checked for changes."""


class Certificate(msgspec.Struct, frozen=True):
    """A client certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Tls:
    """Contexts for one cluster; a new one whenever the files they were made from change."""

    def __init__(self, selected: SelectedContext) -> None:
        self._selected = selected
        self._context: ssl.SSLContext | None = None
        self._given: Certificate | None = None
        self._made_from: tuple[object, ...] = ()
        self._checked = float("-inf")

    def context(self, now: float, given: Certificate | None = None) -> ssl.SSLContext:
        """The context to use now; a `given` certificate replaces a configured one.

        If changed files cannot be used yet, for example because they are half written, the old
        context stays in use.
        """
        fresh = now - self._checked < CHECK_SECONDS and given == self._given
        if self._context is not None and fresh:
            return self._context
        self._checked = now
        source = (given, *map(_changed, self._files()))
        if self._context is None or source != self._made_from:
            self._replace(given, source)
        return cast("ssl.SSLContext", self._context)

    def _replace(self, given: Certificate | None, source: tuple[object, ...]) -> None:
        try:
            self._context = self._make(given)
        except KubeconfigError:
            if self._context is None or given != self._given:
                raise
        else:
            self._given, self._made_from = given, source

    def _files(self) -> tuple[str, ...]:
        cluster, user = self._selected.cluster, self._selected.user
        return cluster.certificate_authority, user.client_certificate, user.client_key

    def _make(self, given: Certificate | None) -> ssl.SSLContext:
        context = self._trusting()
        certificate = given or self._configured()
        if certificate is not None:
            self._present(context, certificate)
        return context

    def _trusting(self) -> ssl.SSLContext:
        cluster, file = self._selected.cluster, self._selected.file
        place = f"cluster {self._selected.cluster_name!r}: certificate-authority"
        ca = cluster.certificate_authority_data
        if not ca and cluster.certificate_authority:
            ca = _read(cluster.certificate_authority, file, place)
        if ca and cluster.insecure_skip_tls_verify:
            raise KubeconfigError(file, place, CA_BUT_INSECURE)
        try:
            context = trusting(cadata=ca.decode() if ca else None)
        except (ssl.SSLError, UnicodeDecodeError, ValueError):
            raise KubeconfigError(file, place, "not a PEM certificate") from None
        if cluster.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _configured(self) -> Certificate | None:
        user, file = self._selected.user, self._selected.file
        place = f"user {self._selected.user_name!r}"
        certificate, key = user.client_certificate_data, user.client_key_data
        if not certificate and user.client_certificate:
            certificate = _read(user.client_certificate, file, f"{place}: client-certificate")
        if not key and user.client_key:
            key = _read(user.client_key, file, f"{place}: client-key")
        if bool(certificate) != bool(key):
            missing = "client-key" if certificate else "client-certificate"
            raise KubeconfigError(file, f"{place}: {missing}", "missing beside its other half")
        return Certificate(certificate, key) if certificate else None

    def _present(self, context: ssl.SSLContext, certificate: Certificate) -> None:
        """Load a certificate; ssl takes files only, so one exists for as long as that takes."""
        place = f"user {self._selected.user_name!r}: client certificate and key"
        try:
            with tempfile.NamedTemporaryFile(prefix="moorage-") as file:
                file.write(certificate.certificate + b"\n" + certificate.key)
                file.flush()
                context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            problem = error.reason or str(error)
            raise KubeconfigError(self._selected.file, place, problem) from None
        except OSError as error:
            problem = f"no room for a temporary file: {error.strerror}"
            raise KubeconfigError(self._selected.file, place, problem) from None


def _read(path: str, file: str, place: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise KubeconfigError(file, place, f"{path}: {error.strerror}") from None


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns if path else 0
    except OSError:
        return 0
