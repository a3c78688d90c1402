"""Requests as bytes: most of one is the same as of the one before."""

from collections.abc import Mapping

from multidict import CIMultiDict


class RequestWriter:
    """Writes requests to one server; `base` is the path all others are below."""

    def __init__(self, host: str, base: str, headers: CIMultiDict[str]) -> None:
        self._base = base
        self._fixed = _lines({"Host": host}) + _lines(headers)
        self._authorization = ""
        self._always = self._fixed

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "",
        authorization: str = "",
    ) -> bytes:
        """One request, whole."""
        if authorization != self._authorization:
            self._authorization = authorization
            self._always = self._fixed + _lines({"Authorization": authorization})
        head = f"{method} {self._base}{path} HTTP/1.1\r\n{self._always}"
        if body is None:
            return f"{head}\r\n".encode()
        about = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        return f"{head}{about}".encode() + body


def _lines(headers: Mapping[str, str]) -> str:
    """Headers as they are written. A line break would end one and begin another."""
    for name, value in headers.items():
        if any(mark in f"{name}{value}" for mark in "\r\n\0"):
            raise ValueError(f"the header {name} holds a line break")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())
