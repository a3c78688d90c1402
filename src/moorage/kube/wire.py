"""HTTP/1.1 for short requests: one after the other on connections that stay open.

Binding a pod and telling of it are two small requests. A general client spends more on each of them
than deciding where the pod goes costs; this one writes and reads bytes. It knows what an API server
sends: a status, headers, and a body of known length, in chunks, or up to the end of the connection.

A connection carries one request at a time. Whatever goes wrong with one, be it a time-out or a
cancelled caller, ends the connection, so that no answer meets the wrong question.
"""

import asyncio
import socket
import ssl
import struct
from typing import Final, NamedTuple

from moorage.kube.answers import Answer, Reader
from moorage.kube.fence import LeaseFence
from moorage.kube.secrecy import Secrecy

_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends nothing more, not even what was written."""


class Target(NamedTuple):
    """Where connections lead; those with equal targets are as good as each other."""

    host: str
    port: int
    context: ssl.SSLContext | None
    server_name: str


class WireError(ConnectionError):
    """The connection broke, or made no sense."""


async def wire_on(connected: socket.socket, target: Target) -> "Wire":
    """A connection that is ready to be asked."""
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(lambda: Wire(target), sock=connected)
    await wire.ready()
    return wire


class Wire(asyncio.Protocol):
    """One connection; an answer that is awaited is due by `deadline`."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.used = 0.0
        self.deadline = 0.0
        self.fence: LeaseFence | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._reader = Reader()
        self._secrecy: Secrecy | None = None
        self._agreed: asyncio.Future[None] | None = None

    @property
    def is_open(self) -> bool:
        transport = self._transport
        return transport is not None and not transport.is_closing()

    async def ready(self) -> None:
        """Return when TLS is agreed on, where there is any."""
        target = self.target
        if target.context is not None and self._transport is not None:
            self._agreed = self._loop.create_future()
            self._secrecy = Secrecy(target.context, target.server_name)
            self._transport.write(self._secrecy.agree())
            await self._agreed

    async def ask(self, request: bytes, seconds: float, fence: LeaseFence | None) -> Answer:
        """Write, and wait for the answer; whoever calls sees to it that time runs out."""
        if self._transport is None or self._transport.is_closing():
            raise WireError("the connection is closed")
        self.fence = fence
        if fence is not None:
            fence.check()
            seconds = min(seconds, fence.seconds_left)
        self._answer = self._loop.create_future()
        self.deadline = self._loop.time() + seconds
        secrecy = self._secrecy
        self._transport.write(request if secrecy is None else secrecy.seal(request))
        try:
            return await self._answer
        finally:
            self._answer = self.fence = None

    def tear(self, error: Exception) -> None:
        """End the connection, and let nothing leave that has not left yet."""
        if self._transport is not None:
            connected = self._transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._fail(error)

    def is_due(self, now: float, next_look: float) -> bool:
        """Whether the time is up; behind a fence, whether it will be by the next look."""
        return self.deadline <= (now if self.fence is None else now + next_look)

    def close(self) -> None:
        """End the connection, now."""
        if self._transport is not None:
            self._transport.abort()

    def time_out(self) -> None:
        """The answer has not come in time."""
        fail = self._fail if self.fence is None else self.tear
        fail(TimeoutError())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._secrecy is None:
            self._read(data)
        else:
            self._unseal(data, self._secrecy)

    def _unseal(self, data: bytes, secrecy: Secrecy) -> None:
        try:
            plain = secrecy.open(data) if secrecy.ready else self._agree(data, secrecy)
        except ssl.SSLError as error:
            self._fail(error)
            return
        self._write(secrecy.rest())
        if plain:
            self._read(plain)
        if secrecy.ended:
            self.eof_received()
            self.close()

    def _agree(self, data: bytes, secrecy: Secrecy) -> bytes:
        self._write(secrecy.agree(data))
        if not secrecy.ready:
            return b""
        if self._agreed is not None and not self._agreed.done():
            self._agreed.set_result(None)
        return secrecy.open(b"")

    def _write(self, data: bytes) -> None:
        if self._transport is not None and data:
            self._transport.write(data)

    def _read(self, data: bytes) -> None:
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
        cut = self._secrecy is not None and not self._secrecy.ended
        answer = None if cut or self._answer is None else self._reader.end()
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

    def _fail(self, error: Exception) -> None:
        for waiting in (self._agreed, self._answer):
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
        self.close()
