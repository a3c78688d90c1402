"""TLS on a connection of our own.

asyncio's TLS serves every protocol there is, and spends more on a short request than the rest of it
costs. Here bytes go in and bytes come out; whoever holds the connection passes them on. There is no
goodbye: who ends a connection ends it, and an answer says by itself whether it is whole.
"""

import ssl
from typing import Final

_MOST: Final = 1 << 18


class Secrecy:
    """One side of a conversation that nobody else understands; `ready` once both have agreed."""

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self.ready = False
        self.ended = False
        """The other side has said that it says nothing more; a cut connection does not say so."""

    def agree(self, received: bytes = b"") -> bytes:
        """Go on with the handshake; what is to be sent. Raises ssl.SSLError where it fails."""
        self._incoming.write(received)
        try:
            self._ssl.do_handshake()
            self.ready = True
        except ssl.SSLWantReadError:
            pass
        return self._outgoing.read()

    def seal(self, plain: bytes) -> bytes:
        """What to send in place of these bytes."""
        self._ssl.write(plain)
        return self._outgoing.read()

    def open(self, received: bytes) -> bytes:
        """What was said so far; `rest` may have to be sent in return."""
        self._incoming.write(received)
        said = []
        try:
            while found := self._ssl.read(_MOST):
                said.append(found)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        return said[0] if len(said) == 1 else b"".join(said)

    def rest(self) -> bytes:
        """What the other side is to be told beside answers: new keys, say."""
        return self._outgoing.read() if self._outgoing.pending else b""
