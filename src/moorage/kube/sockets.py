"""Every socket of a client to an API server, tracked until it is closed.

asyncio parts slowly: a connection whose opening is cancelled just as TLS is agreed on says goodbye
to the server for up to half a minute, is owned by nobody, and is left to the collector when the
event loop ends. So every socket to an API server is made here. `cut` ends one whoever holds it,
because a transport that reads the end of its stream closes.
"""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakSet

CLOSE_SECONDS: Final = 2.0

AddressInfo = tuple[int, int, int, str, Any]
"""Family, type, protocol, name, address: what `getaddrinfo` says."""


class Sockets:
    """Every socket of one client; `close` returns when none of them is open."""

    def __init__(self) -> None:
        self._made: WeakSet[socket.socket] = WeakSet()
        self._closed = False

    def make(self, info: AddressInfo) -> socket.socket:
        """A socket that does not block, not yet connected."""
        if self._closed:
            raise ConnectionError("the connection is closed")
        made = socket.socket(*info[:3])
        made.setblocking(False)
        self._made.add(made)
        return made

    async def connect(self, host: str, port: int) -> socket.socket:
        """A socket connected to the first address of a host that answers."""
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
        """End every connection, and give those who are opening one a moment to let go of it."""
        self._closed = True
        ending = list(self._made)
        for made in ending:
            cut(made)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while any(made.fileno() >= 0 for made in ending):  # noqa: ASYNC110 no event tells
                    await asyncio.sleep(0)


async def _addresses(host: str, port: int) -> Sequence[AddressInfo]:
    """Where a host is; only a name has to be looked up, which takes a thread."""
    with contextlib.suppress(socket.gaierror):
        kind, flags = socket.SOCK_STREAM, socket.AI_NUMERICHOST
        return socket.getaddrinfo(host, port, type=kind, flags=flags)
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def cut(made: socket.socket) -> None:
    """End a connection, whoever holds it."""
    with contextlib.suppress(OSError):  # it is not connected, or not any more
        made.shutdown(socket.SHUT_RDWR)
