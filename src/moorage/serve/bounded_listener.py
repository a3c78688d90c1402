"""Accepts a limited number of connections; an idle connection makes room for a new one.

When the limit is reached, the connection that has been open longest without a request in progress
is closed. So probes and scrapes get through however many connections somebody opens. New
connections are accepted at a limited rate, because each costs a TLS handshake on the event loop;
the rest wait in the kernel.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Collection
from typing import Any, Final

MOST_CONNECTIONS: Final = 256
MOST_HANDSHAKES: Final = 64
HANDSHAKE_SECONDS: Final = 10.0
ACCEPTED_PER_SECOND: Final = 200
BACKLOG: Final = 128
UNSPECIFIED: Final = ("", "0.0.0.0", "::")


def bound_socket(address: str, port: int, *, share_port: bool = False) -> socket.socket:
    """A listening socket; an unspecified address listens on IPv4 and IPv6."""
    if address in UNSPECIFIED and socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return _listening(("::", port), socket.AF_INET6, share_port, dual=True)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return _listening((address or "0.0.0.0", port), family, share_port)


def _listening(
    where: tuple[str, int], family: socket.AddressFamily, share_port: bool, *, dual: bool = False
) -> socket.socket:
    made = socket.create_server(
        where, family=family, backlog=BACKLOG, reuse_port=share_port, dualstack_ipv6=dual
    )
    made.setblocking(False)
    return made


class BoundedListener:
    """Accepts connections on a socket until it is closed.

    `factory` makes the protocol of each connection. Transports in `busy` have a request in progress
    and are not closed.
    """

    def __init__(
        self,
        listening: socket.socket,
        factory: Callable[[], asyncio.BaseProtocol],
        context: ssl.SSLContext | None,
        *,
        busy: Collection[Any] = (),
        most: int = MOST_CONNECTIONS,
    ) -> None:
        self._socket = listening
        self._factory = factory
        self._context = context
        self._busy = busy
        self._most = most
        self._open: list[Any] = []
        self._handshakes: dict[asyncio.Task[None], None] = {}
        self._task = asyncio.ensure_future(self._accept())

    @property
    def port(self) -> int:
        """The port of the socket."""
        return int(self._socket.getsockname()[1])

    async def close(self) -> None:
        """Stop accepting; open connections stay open."""
        tasks = [self._task, *self._handshakes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._socket.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._socket)
            except OSError:  # no file descriptor is left, or the peer has disconnected
                await asyncio.sleep(0.1)
                continue
            while len(self._handshakes) >= MOST_HANDSHAKES:
                oldest = next(iter(self._handshakes))
                del self._handshakes[oldest]
                oldest.cancel()
            task = asyncio.ensure_future(self._admit(connection))
            self._handshakes[task] = None
            task.add_done_callback(lambda done: self._handshakes.pop(done, None))
            await asyncio.sleep(1 / ACCEPTED_PER_SECOND)

    async def _admit(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        seconds = HANDSHAKE_SECONDS if self._context is not None else None
        try:
            transport, _ = await loop.connect_accepted_socket(
                self._factory, connection, ssl=self._context, ssl_handshake_timeout=seconds
            )
        except (OSError, asyncio.CancelledError):  # ssl.SSLError is an OSError
            connection.close()
            return
        self._make_room()
        self._open.append(transport)

    def _make_room(self) -> None:
        self._open = [each for each in self._open if not each.is_closing()]
        if len(self._open) < self._most:
            return
        for transport in self._open:
            if transport not in self._busy:
                transport.abort()
                return
