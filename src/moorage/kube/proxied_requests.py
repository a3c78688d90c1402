"""Requests through an HTTP proxy, by aiohttp; imported only if there is a proxy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from yarl import URL

from moorage.api.outside_text import request_target
from moorage.kube.access import JSON, Access
from moorage.kube.fence import LeaseFence
from moorage.kube.http1 import CONNECT_SECONDS, MOST_ANSWER, HttpError
from moorage.kube.http_stream import ByteStream, keep_alive
from moorage.kube.sockets import Sockets
from moorage.kube.status_errors import error_from_response
from moorage.watch.api_errors import Unreachable

CHUNK: Final = 1 << 18

FAILED: Final = (aiohttp.ClientError, OSError)
"""Exceptions that mean that no answer came."""


class ProxiedRequests:
    """Short requests and lists share `limit` connections; each stream has its own."""

    def __init__(self, access: Access, sockets: Sockets, limit: int, seconds: float) -> None:
        self._access = access
        self._sockets = sockets
        self._limit = limit
        self._timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        self._open: dict[int, aiohttp.ClientSession] = {}

    async def exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        fence: LeaseFence | None,
        *,
        urgent: bool = False,
    ) -> bytes:
        """Send one request and read its whole answer.

        With a fence, the body is sent only while the fence is open; without it the request has no
        effect.
        """
        headers = {"Content-Type": content_type} if body is not None else {}
        if self._access.compressed:
            headers["Accept-Encoding"] = "gzip"
        if fence is not None and body is not None:
            headers["Content-Length"] = str(len(body))
        options = await self._options(headers)
        url = self._address(path)
        try:
            async with (
                asyncio.timeout(None if fence is None else fence.seconds_left),
                self._session(self._limit).request(
                    method, url, data=_behind(fence, body), **options
                ) as response,
            ):
                answer = await _whole(response)
        except FAILED as error:
            if fence is not None:
                fence.check()
            raise self._unreachable(method, path, error) from None
        if response.status >= 300:
            raise error_from_response(response.status, answer, response.headers.get("Retry-After"))
        return answer

    async def fetch(self, path: str) -> bytes:
        """One long answer, compressed on its way."""
        return await self.exchange("GET", path, None, JSON, None)

    @asynccontextmanager
    async def stream(self, path: str, silent_seconds: float) -> AsyncIterator[ByteStream]:
        """An answer as it arrives. Silence for longer than that ends it with a TimeoutError."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=silent_seconds
        )
        options = {"timeout": timeout, **await self._options({})}
        try:
            response = await self._session(0).get(self._address(path), **options)
        except FAILED as error:
            raise self._unreachable("GET", path, error) from None
        async with response:
            if response.status >= 300:
                raise await self._refusal(path, response)
            _keep_alive(response)
            yield _Content(response.content)

    def tear_fenced(self) -> None:
        """Does nothing: every request checks the fence itself."""

    async def close(self) -> None:
        """Close every connection."""
        for session in self._open.values():
            await session.close()

    async def _refusal(self, path: str, response: aiohttp.ClientResponse) -> Exception:
        try:
            body = await _whole(response)
        except FAILED as error:
            return self._unreachable("GET", path, error)
        return error_from_response(response.status, body, response.headers.get("Retry-After"))

    def _unreachable(self, method: str, path: str, error: Exception) -> Unreachable:
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        return self._access.unreachable(method, path, cause)

    async def _options(self, headers: dict[str, str]) -> dict[str, Any]:
        """The options of every request."""
        access = self._access
        credential, context = await access.proof()
        if credential.authorization:
            headers = {**headers, "Authorization": credential.authorization}
        options: dict[str, Any] = {"headers": headers, "allow_redirects": False}
        options["proxy"] = access.proxy
        if context is not None:
            options["ssl"] = context
        if access.server_name != access.host:
            options["server_hostname"] = access.server_name
        return options

    def _address(self, path: str) -> URL:
        return URL(self._access.url + request_target(path), encoded=True)

    def _session(self, limit: int) -> aiohttp.ClientSession:
        if limit not in self._open:
            self._open[limit] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=limit, socket_factory=self._sockets.make),
                headers=self._access.headers,
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=CHUNK,
            )
        return self._open[limit]


class _Content:
    """aiohttp's stream, with its errors as HttpError."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    async def readany(self) -> bytes:
        try:
            return await self._content.readany()
        except aiohttp.ClientError as error:
            raise HttpError(str(error)) from None


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """An answer, decompressed, up to the size that is read of any."""
    found = bytearray()
    async for chunk in response.content.iter_any():
        found += chunk
        if len(found) > MOST_ANSWER:
            raise HttpError(f"the answer has more than {MOST_ANSWER:,} bytes")
    return bytes(found)


def _behind(fence: LeaseFence | None, body: bytes | None) -> bytes | AsyncIterator[bytes] | None:
    if fence is None or body is None:
        return body

    async def checked() -> AsyncIterator[bytes]:
        fence.check()
        yield body

    return checked()


def _keep_alive(response: aiohttp.ClientResponse) -> None:
    transport = response.connection.transport if response.connection is not None else None
    peer = transport.get_extra_info("socket") if transport is not None else None
    if peer is not None:
        keep_alive(peer)
