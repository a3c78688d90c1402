"""HTTP/1.1 for requests with complete answers: one after the other on connections that stay open.

Binding a pod and recording its event are two small requests; a general client takes four times as
long for each as this one. httptools parses and asyncio does TLS; here are connections that carry
one request at a time (`http_pool` keeps them). Any failure, a timeout or a cancelled caller
included, ends the connection, so that no answer is taken for that of another request.

An answer must have a length or be chunked; one that ends with its connection is refused.
"""

import asyncio
import contextlib
import math
import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar, cast

import httptools
from multidict import CIMultiDict

from moorage.api.outside_text import header, request_target
from moorage.kube.fence import LeaseFence
from moorage.kube.sockets import Sockets, cut

CONNECT_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
MOST_ANSWER: Final = 2 << 30
"""How many bytes of an answer are read: more than the list of any cluster has."""
RETRY_AFTER: Final = b"retry-after"
CONTENT_ENCODING: Final = b"content-encoding"
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER value: closing sends nothing more, not even bytes that were written."""


class Target(NamedTuple):
    """What connections lead to; those with equal targets are interchangeable."""

    host: str
    port: int
    context: ssl.SSLContext | None
    server_name: str


class Answer(NamedTuple):
    """An HTTP answer; `retry_after` and `encoding` are headers, empty if missing."""

    status: int
    body: bytes
    retry_after: str
    encoding: str


class HttpError(ConnectionError):
    """The connection broke, or what arrived is not HTTP."""


P = TypeVar("P", bound=asyncio.Protocol)


async def connect(sockets: Sockets, target: Target, make: Callable[[], P]) -> P:
    """Open a connection whose protocol is what `make` returns."""
    async with asyncio.timeout(CONNECT_SECONDS):
        connected = await sockets.connect(target.host, target.port)
        try:
            _, made = await asyncio.get_running_loop().create_connection(
                make,
                sock=connected,
                ssl=target.context,
                server_hostname=None if target.context is None else target.server_name,
            )
        except BaseException:
            cut(connected)
            raise
        return made


class RequestWriter:
    """Requests to one server as bytes; `base` is prefixed to every path."""

    def __init__(self, host: str, base: str, headers: CIMultiDict[str]) -> None:
        self._base = base
        self._fixed = _lines({"Host": host}) + _lines(headers)
        self._authorization = ""
        self._always = self._fixed

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "",
        authorization: str = "",
    ) -> bytes:
        """One whole request."""
        if authorization != self._authorization:
            self._authorization = authorization
            self._always = self._fixed + _lines({"Authorization": authorization})
        head = f"{method} {request_target(self._base + path)} HTTP/1.1\r\n{self._always}"
        if body is None:
            return f"{head}\r\n".encode()
        about = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        return f"{head}{about}".encode() + body


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(header(name, value) for name, value in headers.items())


class HttpConnection(asyncio.Protocol):
    """One connection; while an answer is awaited, it is due by `deadline`."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.used = 0.0
        self.deadline = math.inf
        self.fence: LeaseFence | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._received = 0
        self._retry_after = self._encoding = b""

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes, seconds: float, fence: LeaseFence | None) -> Answer:
        """Write the request and await the answer; the caller must enforce the deadline."""
        if self._transport is None or self._transport.is_closing():
            raise HttpError("the connection is closed")
        self.fence = fence
        if fence is not None:
            fence.check()
            seconds = min(seconds, fence.seconds_left)
        self._answer = self._loop.create_future()
        self.deadline = self._loop.time() + seconds
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._answer = self.fence = None
            self.deadline = math.inf

    def is_idle(self, now: float) -> bool:
        """Whether it has not been used for `IDLE_SECONDS`."""
        return now - self.used >= IDLE_SECONDS

    def is_due(self, now: float, next_look: float) -> bool:
        """Whether the deadline has passed; for a fenced request, whether it will by `next_look`."""
        return self.deadline <= (now if self.fence is None else now + next_look)

    def time_out(self) -> None:
        """Fail the request: the answer has not come in time."""
        fail = self._fail if self.fence is None else self.tear
        fail(TimeoutError())

    def tear(self, error: Exception) -> None:
        """Reset the connection, so that bytes which were not sent yet never are."""
        if self._transport is not None:
            connected = self._transport.get_extra_info("socket")
            with contextlib.suppress(OSError):  # it is closed already
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._fail(error)

    def close(self) -> None:
        """End the connection, now."""
        if self._transport is not None:
            self._transport.abort()

    def hand_over(self, to: asyncio.Protocol) -> None:
        """Give the transport to another protocol; only while no answer is awaited."""
        transport = self._transport
        if transport is None:
            raise HttpError("the connection is closed")
        self._let_go()
        transport.set_protocol(to)
        to.connection_made(transport)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._is_answered():
            self.close()  # nothing was asked: it would be taken for the next answer
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(HttpError(f"not HTTP: {error}"))

    def on_message_begin(self) -> None:
        if self._is_answered():
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(name) == len(RETRY_AFTER) and name.lower() == RETRY_AFTER:
            self._retry_after = value
        elif len(name) == len(CONTENT_ENCODING) and name.lower() == CONTENT_ENCODING:
            self._encoding = value

    def on_body(self, body: bytes) -> None:
        self._received += len(body)
        if self._received > MOST_ANSWER:
            self._body = []
            self._fail(HttpError(f"the answer has more than {MOST_ANSWER:,} bytes"))
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # an interim answer: the final one follows
            return
        retry_after, encoding = (
            self._retry_after.decode("latin-1"),
            self._encoding.decode("latin-1"),
        )
        answer = Answer(status, b"".join(self._body), retry_after, encoding)
        self._body, self._retry_after, self._encoding = [], b"", b""
        self._received = 0
        if self._answer is not None and not self._answer.done():
            self.used = self._loop.time()
            self._answer.set_result(answer)
        if not self._parser.should_keep_alive():
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(HttpError(str(error or "the server closed the connection")))
        if self._transport is not None:
            self._let_go()

    def _is_answered(self) -> bool:
        return self._answer is None or self._answer.done()

    def _let_go(self) -> None:
        """Break reference cycles, which would keep TLS buffers of 256 KiB alive."""
        self._transport = None
        del self._parser

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.close()
