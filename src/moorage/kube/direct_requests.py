"""Requests straight to an API server: pools of connections, and one for each watch."""

import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from moorage.kube.access import JSON, Access
from moorage.kube.fence import LeaseFence
from moorage.kube.http1 import MOST_ANSWER, Answer, HttpError, RequestWriter, Target
from moorage.kube.http_pool import HttpPool
from moorage.kube.http_stream import HttpStream, StreamOpener
from moorage.kube.sockets import Sockets
from moorage.kube.status_errors import error_from_response

GZIP: Final = "gzip"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


class DirectRequests:
    """Bindings, leases and lists each have a pool of `limit` connections: none waits for another.

    An answer must be complete within `seconds`; a stream must begin within that time. The first
    watch also opens a few connections for writes, which will follow soon.
    """

    def __init__(self, access: Access, sockets: Sockets, limit: int, seconds: float) -> None:
        self._access = access
        self._to = Target(access.host, access.port, None, access.server_name)
        self._seconds = seconds
        self._pool = HttpPool(limit, sockets)
        self._urgent = HttpPool(limit, sockets)
        self._long = HttpPool(limit, sockets, at_once=limit)
        self._is_warm = False
        self._streams = StreamOpener(sockets, self._long, seconds)
        self._writer = RequestWriter(access.netloc, access.path, access.headers)
        compressed = access.headers.copy()
        if access.compressed:
            compressed["Accept-Encoding"] = GZIP
        self._long_writer = RequestWriter(access.netloc, access.path, compressed)

    async def exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        fence: LeaseFence | None,
        *,
        urgent: bool,
    ) -> bytes:
        """One short request. An urgent one does not wait behind others."""
        pool = self._urgent if urgent else self._pool
        authorization, target = await self._target()
        request = self._writer.request(method, path, body, content_type, authorization)
        try:
            answer = await pool.ask(target, request, self._seconds, fence)
        except OSError as error:
            raise self._access.unreachable(method, path, error) from None
        return _success(answer)

    async def fetch(self, path: str) -> bytes:
        """GET one long answer, compressed in transit.

        If the connection breaks, it is requested once more: the server may have closed an idle one.
        """
        authorization, target = await self._target()
        request = self._long_writer.request("GET", path, None, JSON, authorization)
        try:
            try:
                answer = await self._long.ask(target, request, self._seconds)
            except HttpError:
                answer = await self._long.ask(target, request, self._seconds)
            return _success(_plain(answer))
        except (OSError, zlib.error) as error:
            raise self._access.unreachable("GET", path, error) from None

    @asynccontextmanager
    async def stream(self, path: str, silent_seconds: float) -> AsyncIterator[HttpStream]:
        """An answer as it arrives. Silence for longer than that ends it with a TimeoutError."""
        authorization, target = await self._target()
        request = self._writer.request("GET", path, None, JSON, authorization)
        try:
            stream = await self._streams.open(target, request, silent_seconds)
        except OSError as error:
            raise self._access.unreachable("GET", path, error) from None
        if not self._is_warm:
            self._is_warm = True
            self._pool.warm_up(target)
        try:
            yield stream
        finally:
            stream.close()

    def tear_fenced(self) -> None:
        """End the fenced requests under way, because the fence is closed."""
        self._pool.tear_fenced()

    async def close(self) -> None:
        """Close every connection."""
        for pool in (self._pool, self._urgent, self._long):
            pool.close()

    async def _target(self) -> tuple[str, Target]:
        """The Authorization header, and the target to connect to."""
        access = self._access
        credential, context = await access.proof()
        if context is not self._to.context:
            self._to = Target(access.host, access.port, context, access.server_name)
        return credential.authorization, self._to


def _plain(answer: Answer) -> Answer:
    if answer.encoding != GZIP:
        return answer
    inflating = zlib.decompressobj(_GZIP_WINDOW)
    body = inflating.decompress(answer.body, MOST_ANSWER)
    if inflating.unconsumed_tail:
        raise HttpError(f"the answer holds more than {MOST_ANSWER:,} bytes")
    if not inflating.eof:
        raise HttpError("the compressed answer is cut off")
    return answer._replace(body=body)


def _success(answer: Answer) -> bytes:
    if answer.status >= 300:
        raise error_from_response(answer.status, answer.body, answer.retry_after)
    return answer.body
