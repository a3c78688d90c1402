"""HTTP to one API server: pooled connections, credentials that renew themselves, clear errors."""

import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from yarl import URL

from moorage import __version__
from moorage.kube import impersonation
from moorage.kube.credentials import credentials_of
from moorage.kube.kubeconfig import KubeconfigError, Selected
from moorage.kube.proxies import proxy_for
from moorage.kube.refusals import refusal
from moorage.kube.tls import Tls
from moorage.watch.errors import Unauthorized, Unreachable

JSON: Final = "application/json"
POOL: Final = 64
"""Requests under way at once; more wait their turn."""
CONNECT_SECONDS: Final = 10.0
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
        self._timeout = aiohttp.ClientTimeout(total=request_seconds, sock_connect=CONNECT_SECONDS)
        self._headers = {
            "User-Agent": f"moorage/{__version__}",
            "Accept": JSON,
            "Accept-Encoding": "identity",
            **impersonation.headers(selected.user),
        }
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = JSON,
        compressed: bool = False,
        seconds: float | None = None,
    ) -> bytes:
        """One request, whole; anything but success raises an `ApiError`."""
        headers = {"Content-Type": content_type} if body is not None else {}
        if compressed and not self._selected.cluster.disable_compression:
            headers["Accept-Encoding"] = "gzip"
        options: dict[str, Any] = {"data": body, "headers": headers}
        if seconds is not None:
            options["timeout"] = aiohttp.ClientTimeout(seconds, sock_connect=CONNECT_SECONDS)
        try:
            return await self._exchange(method, path, options)
        except Unauthorized:
            self._credentials.refused()
            return await self._exchange(method, path, options)

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
        for session in (self._requests, self._streams):
            if session is not None:
                await session.close()

    async def _exchange(self, method: str, path: str, options: dict[str, Any]) -> bytes:
        session = self._requesting()
        options = {**options, **await self._common(options["headers"])}
        try:
            async with session.request(method, self._address(path), **options) as response:
                body = await response.read()
        except Failed as error:
            raise self._unreachable(method, path, error) from None
        if response.status >= 400:
            raise refusal(response.status, body, response.headers.get("Retry-After"))
        return body

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
        """What goes with every request: who we are, and how to know the server."""
        try:
            credential = await self._credentials.current()
            context = self._tls.context(self._now(), credential.certificate)
        except KubeconfigError as error:
            raise Unreachable(str(error)) from None
        if credential.authorization:
            headers = {**headers, "Authorization": credential.authorization}
        common: dict[str, Any] = {"headers": headers, "ssl": context}
        if self._proxy is not None:
            common["proxy"] = self._proxy
        if self._selected.cluster.tls_server_name:
            common["server_hostname"] = self._selected.cluster.tls_server_name
        return common

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
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno:
        return os.strerror(error.os_error.errno)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__


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
