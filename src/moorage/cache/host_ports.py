"""Host ports in use, indexed by port."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Protocol

from moorage.cache.podinfo import HostPort

ANY = "0.0.0.0"


class UsedPorts(Protocol):
    """Tells on which rows a host port is taken."""

    def conflicts(self, port: HostPort) -> Iterator[int]:
        """Rows where the port is taken: by the same ip, or if either ip is 0.0.0.0."""
        ...

    def is_taken(self, port: HostPort, row: int) -> bool:
        """Whether the port is taken on a row."""
        ...


class PortIndex:
    """(protocol, port) -> ip -> row -> number of pods using it there."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[str, dict[int, int]]] = {}

    def count(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        for port in ports:
            key = (port.protocol, port.port)
            ips = self._used.setdefault(key, {})
            rows = ips.setdefault(port.ip, {})
            left = rows.get(row, 0) + sign
            if left:
                rows[row] = left
                continue
            del rows[row]
            if not rows:
                del ips[port.ip]
                if not ips:
                    del self._used[key]

    def conflicts(self, port: HostPort) -> Iterator[int]:
        """Rows where the port is taken: by the same ip, or if either ip is 0.0.0.0."""
        return chain.from_iterable(self._clashing(port))

    def is_taken(self, port: HostPort, row: int) -> bool:
        """Whether the port is taken on a row."""
        return any(row in rows for rows in self._clashing(port))

    def _clashing(self, port: HostPort) -> Iterator[dict[int, int]]:
        for ip, rows in self._used.get((port.protocol, port.port), {}).items():
            if ip == port.ip or ANY in (ip, port.ip):
                yield rows

    def used(self) -> dict[tuple[str, str, int], dict[int, int]]:
        """A plain copy, for comparison."""
        return {
            (protocol, ip, port): dict(rows)
            for (protocol, port), ips in self._used.items()
            for ip, rows in ips.items()
        }


class JoinedPorts:
    """The ports in use in either of two indexes."""

    __slots__ = ("_either", "_other")

    def __init__(self, either: UsedPorts, other: UsedPorts) -> None:
        self._either = either
        self._other = other

    def conflicts(self, port: HostPort) -> Iterator[int]:
        return chain(self._either.conflicts(port), self._other.conflicts(port))

    def is_taken(self, port: HostPort, row: int) -> bool:
        return self._either.is_taken(port, row) or self._other.is_taken(port, row)
