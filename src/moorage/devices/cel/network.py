"""IP addresses and networks, as Kubernetes' `ip` and `cidr` libraries have them."""

import re
from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Any, ClassVar, Final

from moorage.devices.cel.values import CelError, no_overload

_BITS: Final = re.compile(r"0|[1-9][0-9]{0,2}")
_BROADCAST: Final = IPv4Address("255.255.255.255")
_LOCAL_MULTICAST: Final = 2
"""The scope of an IPv6 multicast address: its link."""


class IP:
    """An address without a zone."""

    __slots__ = ("address",)
    cel_type: ClassVar[str] = "net.IP"

    def __init__(self, address: IPv4Address | IPv6Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __str__(self) -> str:
        return str(self.address)

    def __len__(self) -> int:
        return self.address.max_prefixlen // 8


class CIDR:
    """A network; its address may have bits beyond the prefix."""

    __slots__ = ("address", "bits")
    cel_type: ClassVar[str] = "net.CIDR"

    def __init__(self, address: IPv4Address | IPv6Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, CIDR) and self.address == other.address
        return same and self.bits == other.bits  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.address, self.bits))

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def __len__(self) -> int:
        return -(-self.bits // 8)

    def covers(self, address: IPv4Address | IPv6Address) -> bool:
        if address.version != self.address.version:
            return False
        rest = address.max_prefixlen - self.bits
        return int(address) >> rest == int(self.address) >> rest


def parse_ip(text: Any) -> IP:
    if not isinstance(text, str):
        raise no_overload(text)
    return IP(_address(text))


def parse_cidr(text: Any) -> CIDR:
    if not isinstance(text, str):
        raise no_overload(text)
    before, slash, bits = text.rpartition("/")
    if not slash or not _BITS.fullmatch(bits):
        raise CelError(f"network address parse error during conversion from string: {text!r}")
    address = _address(before)
    if int(bits) > address.max_prefixlen:
        raise CelError(f"network address {text!r}: prefix length out of range")
    return CIDR(address, int(bits))


def _address(text: str) -> IPv4Address | IPv6Address:
    try:
        address = ip_address(text)
    except (AddressValueError, ValueError):
        problem = f"IP Address {text!r} parse error during conversion from string"
        raise CelError(problem) from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None or "%" in text:
            raise CelError(f"IP address {text!r} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise CelError(f"IPv4-mapped IPv6 address {text!r} is not allowed")
    return address


def _ip(value: Any) -> IP:
    """`ip('10.0.0.1')`, or the address of a network."""
    return IP(value.address) if isinstance(value, CIDR) else parse_ip(value)


def _of(value: Any) -> IPv4Address | IPv6Address:
    if not isinstance(value, IP):
        raise no_overload(value)
    return value.address


def _network(value: Any) -> CIDR:
    if not isinstance(value, CIDR):
        raise no_overload(value)
    return value


def _is_link_local_multicast(value: Any) -> bool:
    address = _of(value)
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\0\0"
    return address.packed[0] == 0xFF and address.packed[1] & 0xF == _LOCAL_MULTICAST


def _is_link_local_unicast(value: Any) -> bool:
    address = _of(value)
    if isinstance(address, IPv4Address):
        return address.packed[:2] == b"\xa9\xfe"
    return address.packed[0] == 0xFE and address.packed[1] & 0xC0 == 0x80


def _is_global_unicast(value: Any) -> bool:
    address = _of(value)
    special = address.is_unspecified or address.is_loopback or address.is_multicast
    return not special and address != _BROADCAST and not _is_link_local_unicast(value)


def _contains_ip(network: Any, other: Any) -> bool:
    address = parse_ip(other).address if isinstance(other, str) else _of(other)
    return _network(network).covers(address)


def _contains_cidr(network: Any, other: Any) -> bool:
    inner = parse_cidr(other) if isinstance(other, str) else _network(other)
    return _network(network).bits <= inner.bits and network.covers(inner.address)


def _masked(network: Any) -> CIDR:
    cidr = _network(network)
    rest = cidr.address.max_prefixlen - cidr.bits
    return CIDR(type(cidr.address)(int(cidr.address) >> rest << rest), cidr.bits)


def parses(parse: Callable[..., Any], *args: Any) -> bool:
    try:
        parse(*args)
    except CelError:
        return False
    return True


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "ip": _ip,
    "isIP": lambda text: parses(parse_ip, text),
    "ip.isCanonical": lambda text: str(parse_ip(text)) == text,
    "cidr": parse_cidr,
    "isCIDR": lambda text: parses(parse_cidr, text),
    "family": lambda value: _of(value).version,
    "isUnspecified": lambda value: _of(value).is_unspecified,
    "isLoopback": lambda value: _of(value).is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": _is_link_local_unicast,
    "isGlobalUnicast": _is_global_unicast,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda value: _network(value).bits,
    "masked": _masked,
}
