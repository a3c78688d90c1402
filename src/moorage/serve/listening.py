"""Where to listen: TLS anywhere, plain HTTP on loopback only."""

import ipaddress

import msgspec

from moorage.serve.certificates import Certificates


class ListenerError(Exception):
    """An address that must not be listened on in that way."""


class Listener(msgspec.Struct, frozen=True):
    """An address to listen on; without certificates it is plain HTTP. Port 0: any free one."""

    address: str = "0.0.0.0"
    port: int = 10259
    certificates: Certificates | None = Certificates()

    def __post_init__(self) -> None:
        if self.certificates is None and not is_loopback(self.address):
            raise ListenerError(
                f"plain HTTP on {self.address}: serve TLS there, or listen on 127.0.0.1"
            )

    @property
    def trusted(self) -> bool:
        """Whether whoever connects is on this machine, and is shown everything."""
        return self.certificates is None


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
