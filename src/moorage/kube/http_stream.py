"""An HTTP/1.1 answer that is read as it arrives, on a connection of its own: a watch.

TCP keepalive detects a dead peer in about half a minute. A peer that is alive but silent for too
long ends the stream with a TimeoutError. A slow reader holds up the server: once more than
`HIGH_WATER` bytes are buffered, no more are read from the socket.
"""

import asyncio
import socket
from typing import Final, Protocol, cast

import httptools

from moorage.kube.http1 import MOST_ANSWER, RETRY_AFTER, HttpError, Target, connect
from moorage.kube.http_pool import HttpPool
from moorage.kube.sockets import Sockets
from moorage.kube.status_errors import error_from_response

HIGH_WATER: Final = 1 << 20
MOST_REFUSAL: Final = 1 << 20
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


class ByteStream(Protocol):
    """An answer that is being received."""

    async def readany(self) -> bytes:
        """What has arrived since, as soon as there is anything; nothing at its end."""
        ...


class StreamOpener:
    """Opens streams; a stream takes over a free connection of `lists` if there is one.

    After the lists at start there are as many free connections as watches, which saves TLS
    handshakes.
    """

    def __init__(self, sockets: Sockets, lists: HttpPool, answer_seconds: float) -> None:
        self._sockets = sockets
        self._lists = lists
        self._seconds = answer_seconds

    async def open(self, target: Target, request: bytes, silent_seconds: float) -> "HttpStream":
        """Open a stream whose answer begins in time; anything but success raises an `ApiError`."""
        stream = HttpStream(silent_seconds)
        free = self._lists.take(target)
        if free is not None:
            free.hand_over(stream)
            try:
                return await self._begun(stream, request)
            except HttpError:  # the server has closed it meanwhile
                stream = HttpStream(silent_seconds)
        await connect(self._sockets, target, lambda: stream)
        return await self._begun(stream, request)

    async def _begun(self, stream: "HttpStream", request: bytes) -> "HttpStream":
        try:
            async with asyncio.timeout(self._seconds):
                status = await stream.ask(request)
                if status >= 300:
                    refusal = await stream.read_all(MOST_REFUSAL)
                    raise error_from_response(status, refusal, stream.retry_after)
        except BaseException:
            stream.close()
            raise
        return stream


class HttpStream(asyncio.Protocol):
    """One connection, for one answer."""

    def __init__(self, silent_seconds: float) -> None:
        self.retry_after = ""
        self._silent_seconds = silent_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._status: asyncio.Future[int] = self._loop.create_future()
        self._arrived: list[bytes] = []
        self._held = 0
        self._ended = self._paused = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._heard = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    async def ask(self, request: bytes) -> int:
        """Write the request; the status of its answer."""
        if self._transport is None or self._error is not None:
            raise self._error or HttpError("the connection is closed")
        self._transport.write(request)
        self._heard = self._loop.time()
        self._look()
        return await self._status

    async def readany(self) -> bytes:
        """What has arrived since, as soon as there is anything; nothing at its end."""
        if not self._arrived and not self._ended and self._error is None:
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        if not self._arrived and self._error is not None:
            raise self._error
        found = b"".join(self._arrived)
        self._arrived.clear()
        self._held = 0
        if self._paused and self._transport is not None:
            self._paused, self._heard = False, self._loop.time()
            self._transport.resume_reading()
        return found

    async def read_all(self, most: int = MOST_ANSWER) -> bytes:
        """The answer to its end; HttpError if it has more bytes than `most`."""
        found = bytearray()
        while chunk := await self.readany():
            found += chunk
            if len(found) > most:
                raise HttpError(f"the answer has more than {most:,} bytes")
        return bytes(found)

    def close(self) -> None:
        """End the connection, now."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        connected = transport.get_extra_info("socket")
        if connected is not None:
            keep_alive(connected)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(HttpError(f"not HTTP: {error}"))
        if self._held > HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        if self._arrived or self._ended:
            self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(HttpError(str(error or "the server closed the connection")))
        self.close()
        self._transport = None
        del self._parser  # a reference cycle, which would keep TLS buffers alive

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == RETRY_AFTER:
            self.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200 and not self._status.done():
            self._status.set_result(status)

    def on_body(self, body: bytes) -> None:
        self._arrived.append(body)
        self._held += len(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self._ended = True

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        if not self._status.done():
            self._status.set_exception(self._error)
            self._status.exception()  # mark it as retrieved: the caller may be gone
        self._wake()
        if self._transport is not None:
            self._transport.abort()

    def _look(self) -> None:
        """Check for silence; a timer per chunk would cost more than reading the chunk."""
        now = self._loop.time()
        due = (now if self._paused else self._heard) + self._silent_seconds
        if now < due:
            self._alarm = self._loop.call_at(due, self._look)
        else:
            self._fail(TimeoutError())


def keep_alive(connected: socket.socket) -> None:
    """Turn TCP keepalive on, so that a dead peer is detected in about half a minute."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        if hasattr(socket, option):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
