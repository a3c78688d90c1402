"""Every socket of a client to an API server, tracked until it is closed.

asyncio closes slowly: a connection whose opening is cancelled just when TLS is established performs
the TLS shutdown for up to half a minute, has no owner, and is left to the garbage collector when
the event loop ends. So every socket to an API server is made here. `cut` ends a connection whoever
owns it, because a transport closes when it reads the end of its stream.
"""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakSet

CLOSE_SECONDS: Final = 2.0

AddressInfo = tuple[int, int, int, str, Any]
"""(family, type, protocol, name, address), as `getaddrinfo` returns them."""


class Sockets:
    """Every socket of one client; `close` returns when none of them is open."""

    def __init__(self) -> None:
        self._made: WeakSet[socket.socket] = WeakSet()
        self._closed = False

    def make(self, info: AddressInfo) -> socket.socket:
        """A non-blocking socket, not connected yet."""
        if self._closed:
            raise ConnectionError("the connection is closed")
        made = socket.socket(*info[:3])
        made.setblocking(False)
        self._made.add(made)
        return made

    async def connect(self, host: str, port: int) -> socket.socket:
        """A socket connected to the first address of the host that accepts."""
        found = await _addresses(host, port)
        failed: OSError = ConnectionError(f"{host} has no address")
        for info in found:
            try:
                return await self._reach(info)
            except OSError as error:
                failed = error
        raise failed

    async def _reach(self, info: AddressInfo) -> socket.socket:
        made = self.make(info)
        try:
            await asyncio.get_running_loop().sock_connect(made, info[4])
        except BaseException:
            made.close()
            raise
        if self._closed:
            made.close()
            raise ConnectionError("the connection is closed")
        return made

    async def close(self) -> None:
        """End every connection; wait a moment for their owners to close the sockets."""
        self._closed = True
        ending = list(self._made)
        for made in ending:
            cut(made)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while any(made.fileno() >= 0 for made in ending):  # noqa: ASYNC110 no event tells
                    await asyncio.sleep(0)


async def _addresses(host: str, port: int) -> Sequence[AddressInfo]:
    """The addresses of a host; only names need a lookup, which takes a thread."""
    with contextlib.suppress(socket.gaierror):
        kind, flags = socket.SOCK_STREAM, socket.AI_NUMERICHOST
        return socket.getaddrinfo(host, port, type=kind, flags=flags)
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def cut(made: socket.socket) -> None:
    """End a connection, whoever owns it."""
    with contextlib.suppress(OSError):  # it is not connected
        made.shutdown(socket.SHUT_RDWR)
