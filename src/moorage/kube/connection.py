"""HTTP to one API server: pooled connections, credentials that renew themselves, clear errors."""

import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from moorage import __version__
from moorage.kube import impersonation
from moorage.kube.credentials import Credential, credentials_of
from moorage.kube.kubeconfig import KubeconfigError, Selected
from moorage.kube.proxies import proxy_for
from moorage.kube.refusals import refusal
from moorage.kube.requests import RequestWriter
from moorage.kube.tls import Tls
from moorage.kube.wire import CONNECT_SECONDS, Target, Wires
from moorage.watch.errors import Unauthorized, Unreachable

JSON: Final = "application/json"
POOL: Final = 64
"""Requests under way at once; more wait their turn."""
REQUEST_SECONDS: Final = 30.0
CHUNK: Final = 1 << 18
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))

Failed = (aiohttp.ClientError, TimeoutError, OSError, ssl.SSLError)


class Connection:
    """Requests to the API server of one kubeconfig context."""

    def __init__(
        self,
        selected: Selected,
        *,
        request_seconds: float = REQUEST_SECONDS,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.url = _base(selected)
        self._selected = selected
        self._now = now
        self._credentials = credentials_of(selected, now, wall)
        self._tls = Tls(selected)
        self._tls.context(now())
        self._proxy = proxy_for(self.url, selected.cluster.proxy_url)
        parts = urlsplit(self.url)
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._secure else 80)
        self._server_name = selected.cluster.tls_server_name or self._host
        self._seconds = request_seconds
        self._timeout = aiohttp.ClientTimeout(total=request_seconds, sock_connect=CONNECT_SECONDS)
        self._headers: CIMultiDict[str] = CIMultiDict()
        self._headers.update(
            {
                "User-Agent": f"moorage/{__version__}",
                "Accept": JSON,
                "Accept-Encoding": "identity",
            }
        )
        self._headers.extend(impersonation.headers(selected.user))
        self._writer = RequestWriter(parts.netloc, parts.path, self._headers)
        self._wires = Wires(POOL)
        self._urgent = Wires(POOL)
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = JSON,
        urgent: bool = False,
    ) -> bytes:
        """One request, whole; anything but success raises an `ApiError`.

        An urgent one does not wait behind others.
        """
        wires = self._urgent if urgent else self._wires
        ask = partial(self._ask, wires) if self._proxy is None else self._exchange
        try:
            return await ask(method, path, body, content_type)
        except Unauthorized:
            self._credentials.refused()
            return await ask(method, path, body, content_type)

    async def fetch(self, path: str) -> bytes:
        """One long answer, compressed on its way."""
        try:
            return await self._exchange("GET", path, None, JSON)
        except Unauthorized:
            self._credentials.refused()
            return await self._exchange("GET", path, None, JSON)

    @asynccontextmanager
    async def stream(self, path: str, silent_seconds: float) -> AsyncIterator[aiohttp.StreamReader]:
        """An answer as it arrives. Silence for longer than that ends it with a TimeoutError."""
        session = self._streaming()
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=silent_seconds
        )
        options = {"timeout": timeout, **await self._common({})}
        try:
            response = await session.get(self._address(path), **options)
        except Failed as error:
            raise self._unreachable("GET", path, error) from None
        async with response:
            if response.status >= 400:
                await self._refuse("GET", path, response)
            _keep_alive(response)
            yield response.content

    async def close(self) -> None:
        """Close every connection."""
        self._wires.close()
        self._urgent.close()
        for session in (self._requests, self._streams):
            if session is not None:
                await session.close()

    async def _ask(
        self, wires: Wires, method: str, path: str, body: bytes | None, content_type: str
    ) -> bytes:
        """A short request, on the wire."""
        credential, context = await self._proof()
        request = self._writer.request(method, path, body, content_type, credential.authorization)
        target = Target(self._host, self._port, context, self._server_name)
        try:
            answer = await wires.ask(target, request, self._seconds)
        except Failed as error:
            raise self._unreachable(method, path, error) from None
        if answer.status >= 400:
            raise refusal(answer.status, answer.body, answer.header(b"retry-after"))
        return answer.body

    async def _exchange(
        self, method: str, path: str, body: bytes | None, content_type: str
    ) -> bytes:
        """A request that is compressed, or goes through a proxy."""
        session = self._requesting()
        headers = {"Content-Type": content_type} if body is not None else {}
        if not self._selected.cluster.disable_compression:
            headers["Accept-Encoding"] = "gzip"
        options = await self._common(headers)
        try:
            async with session.request(
                method, self._address(path), data=body, **options
            ) as response:
                answer = await response.read()
        except Failed as error:
            raise self._unreachable(method, path, error) from None
        if response.status >= 400:
            raise refusal(response.status, answer, response.headers.get("Retry-After"))
        return answer

    async def _refuse(self, method: str, path: str, response: aiohttp.ClientResponse) -> None:
        try:
            body = await response.read()
        except Failed as error:
            raise self._unreachable(method, path, error) from None
        refused = refusal(response.status, body, response.headers.get("Retry-After"))
        if isinstance(refused, Unauthorized):
            self._credentials.refused()
        raise refused

    async def _common(self, headers: dict[str, str]) -> dict[str, Any]:
        """What goes with every request of a session: who we are, and how to know the server."""
        credential, context = await self._proof()
        if credential.authorization:
            headers = {**headers, "Authorization": credential.authorization}
        common: dict[str, Any] = {"headers": headers}
        if context is not None:
            common["ssl"] = context
        if self._proxy is not None:
            common["proxy"] = self._proxy
        if self._selected.cluster.tls_server_name:
            common["server_hostname"] = self._server_name
        return common

    async def _proof(self) -> tuple[Credential, ssl.SSLContext | None]:
        """Who we are, and how to know the server."""
        try:
            credential = await self._credentials.current()
            if not self._secure:
                return credential, None
            return credential, self._tls.context(self._now(), credential.certificate)
        except KubeconfigError as error:
            raise Unreachable(str(error)) from None

    def _address(self, path: str) -> URL:
        return URL(self.url + path, encoded=True)

    def _requesting(self) -> aiohttp.ClientSession:
        if self._requests is None:
            self._requests = self._session(POOL)
        return self._requests

    def _streaming(self) -> aiohttp.ClientSession:
        if self._streams is None:
            self._streams = self._session(0)
        return self._streams

    def _session(self, limit: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit),
            headers=self._headers,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=CHUNK,
        )

    def _unreachable(self, method: str, path: str, error: Exception) -> Unreachable:
        said = _why(error)
        return Unreachable(f"{method} {self.url}{path.partition('?')[0]}: {said}")


def _base(selected: Selected) -> str:
    server = selected.cluster.server.rstrip("/")
    if not server.startswith(("https://", "http://")):
        place = f"cluster {selected.cluster_name!r}: server"
        raise KubeconfigError(selected.file, place, f"not a URL: {server!r}")
    return server


def _why(error: Exception) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"{cause.reason}: {cause.verify_message}"
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, OSError) and cause.errno and not isinstance(cause, ssl.SSLError):
        return os.strerror(cause.errno)
    return str(cause) or type(cause).__name__


def _keep_alive(response: aiohttp.ClientResponse) -> None:
    """Let the kernel notice a peer that is gone without a word, in about half a minute."""
    transport = response.connection.transport if response.connection is not None else None
    peer = transport.get_extra_info("socket") if transport is not None else None
    if peer is None:
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        if hasattr(socket, option):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
