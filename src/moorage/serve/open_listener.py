"""Opens a port and loads its certificate before the HTTP server answers there.

Connections meanwhile wait in the kernel. Faults of the port or the certificate are reported before
anything else is done.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from moorage.serve.bounded_listener import bound_socket
from moorage.serve.secure_serving import Listener, ListenerError, ServerTls


class OpenListener:
    """A listener with a bound socket; plain HTTP if `tls` is None."""

    def __init__(self, listener: Listener) -> None:
        address, port, certificates = listener.address, listener.port, listener.certificates
        self.listener = listener
        self.tls = None if certificates is None else ServerTls(certificates, address)
        try:
            self.socket = bound_socket(address, port, share_port=listener.share_port)
        except OSError as error:
            number = error.errno or 0  # a resolver's numbers are negative, and no errno
            why = os.strerror(number) if number > 0 else error.strerror or error
            remedy = ": name another, or stop who has it" if error.errno == errno.EADDRINUSE else ""
            raise ListenerError(f"cannot listen on {address}:{port}: {why}{remedy}") from error

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


@contextmanager
def open_listeners(listeners: Iterable[Listener]) -> Iterator[list[OpenListener]]:
    """Open every listener for as long as the block lasts."""
    with ExitStack() as stack:
        opened = []
        for listener in listeners:
            opened.append(OpenListener(listener))
            stack.callback(opened[-1].close)
        yield opened
