"""HTTP/1.1 for short requests: one after the other on connections that stay open.

Binding a pod and telling of it are two small requests. A general client spends more on each of them
than deciding where the pod goes costs; this one writes and reads bytes, and half of what it spends
is TLS. It knows what an API server sends: a status, headers, and a body of known length, in chunks,
or up to the end of the connection.

A connection carries one request at a time. Whatever goes wrong with one, be it a time-out or a
cancelled caller, ends the connection, so that no answer meets the wrong question.
"""

import asyncio
import socket
import ssl
from collections import deque
from typing import Final, NamedTuple

from moorage.kube.answers import Answer, Reader
from moorage.kube.sockets import Sockets, cut

CONNECT_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0


class Target(NamedTuple):
    """Where connections lead; those with equal targets are as good as each other."""

    host: str
    port: int
    context: ssl.SSLContext | None
    server_name: str


class WireError(ConnectionError):
    """The connection broke, or made no sense."""


class Wires:
    """A pool: at most `limit` requests at once, the rest wait their turn."""

    def __init__(self, limit: int, sockets: Sockets) -> None:
        self._sockets = sockets
        self._free: deque[Wire] = deque()
        self._turns = asyncio.Semaphore(limit)
        self._closed = False

    async def ask(self, target: Target, request: bytes, seconds: float) -> Answer:
        """One request and its answer, within so many seconds from when its turn comes."""
        async with self._turns:
            wire = self._open_wire(target) or await _connect(target, self._sockets)
            try:
                answer = await wire.ask(request, seconds)
            except BaseException:
                wire.close()
                raise
            self._keep(wire)
            return answer

    def close(self) -> None:
        """Close every connection, also those that are free later."""
        self._closed = True
        while self._free:
            self._free.pop().close()

    def _open_wire(self, target: Target) -> "Wire | None":
        """The connection used last that leads there; others wither."""
        now = asyncio.get_running_loop().time()
        while self._free:
            wire = self._free.pop()
            if wire.is_open and wire.target == target and now - wire.used < IDLE_SECONDS:
                return wire
            wire.close()
        return None

    def _keep(self, wire: "Wire") -> None:
        if self._closed or not wire.is_open:
            wire.close()
        else:
            self._free.append(wire)


async def _connect(target: Target, sockets: Sockets) -> "Wire":
    async with asyncio.timeout(CONNECT_SECONDS):
        connected = await sockets.connect(target.host, target.port)
        try:
            return await _wire(target, connected)
        except BaseException:
            cut(connected)
            raise


async def _wire(target: Target, connected: socket.socket) -> "Wire":
    _, wire = await asyncio.get_running_loop().create_connection(
        lambda: Wire(target),
        sock=connected,
        ssl=target.context,
        server_hostname=target.server_name if target.context is not None else None,
    )
    return wire


class Wire(asyncio.Protocol):
    """One connection."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.used = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._reader = Reader()

    @property
    def is_open(self) -> bool:
        transport = self._transport
        return transport is not None and not transport.is_closing()

    async def ask(self, request: bytes, seconds: float) -> Answer:
        """Write, and wait for the answer."""
        if self._transport is None or self._transport.is_closing():
            raise WireError("the connection is closed")
        self._answer = self._loop.create_future()
        self._transport.write(request)
        alarm = self._loop.call_later(seconds, self._time_out)
        try:
            return await self._answer
        finally:
            alarm.cancel()
            self._answer = None

    def close(self) -> None:
        """End the connection, now."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.close()  # nobody asked
            return
        try:
            answer = self._reader.feed(data)
        except ValueError as error:
            self._fail(WireError(f"not HTTP: {error}"))
        else:
            if answer is not None:
                self._settle(answer)

    def eof_received(self) -> None:
        answer = self._reader.end() if self._answer is not None else None
        if answer is not None:
            self._settle(answer)
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        said = str(error) if error is not None else "the server closed the connection"
        self._fail(WireError(said))

    def _settle(self, answer: Answer) -> None:
        if self._answer is not None and not self._answer.done():
            self.used = self._loop.time()
            self._answer.set_result(answer)
        if answer.header(b"connection") == "close":
            self.close()

    def _time_out(self) -> None:
        self._fail(TimeoutError())

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.close()
