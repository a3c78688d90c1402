"""The address, credentials, TLS, proxy and headers for one kubeconfig context."""

import os
import socket
import ssl
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlsplit

from multidict import CIMultiDict

from moorage import __version__
from moorage.kube.credentials import Credential, credentials_of
from moorage.kube.http_proxy import is_loopback, proxy_for, shown
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext, User
from moorage.kube.tls import Tls
from moorage.watch.api_errors import Unreachable


def impersonation_headers(user: User) -> CIMultiDict[str]:
    """The Impersonate headers; empty if no user is impersonated."""
    found: CIMultiDict[str] = CIMultiDict()
    if not user.impersonate:
        return found
    found.add("Impersonate-User", user.impersonate)
    if user.impersonate_uid:
        found.add("Impersonate-Uid", user.impersonate_uid)
    for group in user.impersonate_groups:
        found.add("Impersonate-Group", group)
    for key, values in user.impersonate_extra.items():
        for value in values:
            found.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    return found


JSON: Final = "application/json"


class Access:
    """How to reach an API server, and with which credentials."""

    def __init__(
        self,
        selected: SelectedContext,
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        cluster = selected.cluster
        self.url = _base(selected)
        parts = urlsplit(self.url)
        self.secure = parts.scheme == "https"
        self.netloc, self.path = parts.netloc, parts.path
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.secure else 80)
        self.server_name = cluster.tls_server_name or self.host
        self.proxy = _proxy(selected, self.url)
        self.compressed = not cluster.disable_compression and not is_loopback(self.host)
        self.headers = _headers(selected)
        self._now = now
        self._credentials = credentials_of(selected, now, wall)
        self._tls = Tls(selected)
        self._tls.context(now())

    async def proof(self) -> tuple[Credential, ssl.SSLContext | None]:
        """The credential to send, and the TLS context; None without TLS."""
        try:
            credential = await self._credentials.current()
            if not self.secure:
                return self._in_clear_text(credential), None
            return credential, self._tls.context(self._now(), credential.certificate)
        except KubeconfigError as error:
            raise Unreachable(str(error)) from None

    def _in_clear_text(self, credential: Credential) -> Credential:
        """What is shown to a server without TLS: nothing that leaves this machine, as kubectl."""
        stays_here = is_loopback(self.host) and self.proxy is None
        return credential if stays_here else Credential()

    def refused(self) -> None:
        """Get new credentials next time: the server refused these."""
        self._credentials.refused()

    def unreachable(self, method: str, path: str, error: Exception) -> Unreachable:
        """What to raise where no answer came."""
        by = "" if self.proxy is None else f" through proxy {shown(self.proxy)}"
        return Unreachable(f"{method} {self.url}{path.partition('?')[0]}{by}: {_why(error)}")


def _base(selected: SelectedContext) -> str:
    server = selected.cluster.server.rstrip("/")
    if not _is_url(server):
        place = f"cluster {selected.cluster_name!r}: server"
        raise KubeconfigError(selected.file, place, f"not a URL: {server!r}")
    return server


def _proxy(selected: SelectedContext, url: str) -> str | None:
    try:
        return proxy_for(url, selected.cluster.proxy_url)
    except KubeconfigError as error:
        if not selected.cluster.proxy_url:
            raise
        place = f"cluster {selected.cluster_name!r}: {error.place}"
        raise KubeconfigError(selected.file, place, error.problem) from None


def _is_url(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an incomplete IPv6 address, or a port that is not a number
        return False


def _headers(selected: SelectedContext) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict()
    headers["User-Agent"] = f"moorage/{__version__}"
    headers["Accept"] = JSON
    headers["Accept-Encoding"] = "identity"
    headers.extend(impersonation_headers(selected.user))
    return headers


def _why(cause: Exception) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"{cause.reason}: {cause.verify_message}"
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, socket.gaierror):
        return f"no such host: {cause.strerror}"
    if isinstance(cause, OSError) and cause.errno and not isinstance(cause, ssl.SSLError):
        return os.strerror(cause.errno)
    return str(cause) or type(cause).__name__
