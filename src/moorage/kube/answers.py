"""Answers of an HTTP/1.1 server, put together from the pieces they come in."""

from typing import Final, NamedTuple

_END: Final = b"\r\n\r\n"


class Answer(NamedTuple):
    """What came back; the headers in lower case, as they came."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: bytes) -> str:
        """The value of a header, or the empty text."""
        _, found, rest = self.head.partition(b"\r\n" + name + b":")
        return rest.partition(b"\r\n")[0].strip().decode("latin-1") if found else ""


class Reader:
    """Puts answers together from the pieces they come in. Raises ValueError at nonsense."""

    def __init__(self) -> None:
        self._data = b""
        self._head: bytes | None = None
        self._status = 0
        self._length: int | None = None
        self._chunked = False

    def feed(self, data: bytes) -> Answer | None:
        """An answer, once it is whole."""
        self._data = self._data + data if self._data else data
        if self._head is None and not self._read_head():
            return None
        if self._chunked:
            return self._unchunk()
        if self._length is None or len(self._data) < self._length:
            return None
        body, self._data = self._data[: self._length], self._data[self._length :]
        return self._whole(body)

    def end(self) -> Answer | None:
        """The answer that ends with the connection, if there is one."""
        if self._head is None or self._chunked or self._length is not None:
            return None
        body, self._data = self._data, b""
        return self._whole(body)

    def _read_head(self) -> bool:
        head, found, rest = self._data.partition(_END)
        if not found:
            return False
        if not head.startswith(b"HTTP/1."):
            raise ValueError(f"{head[:20]!r}")
        self._status = int(head[9:12])
        if self._status < 200:  # more is to come
            self._data = rest
            return self._read_head()
        self._head, self._data = head.lower() + b"\r\n", rest
        answer = Answer(self._status, self._head, b"")
        self._chunked = answer.header(b"transfer-encoding") == "chunked"
        length = answer.header(b"content-length")
        self._length = int(length) if length else None
        if self._status in (204, 304):
            self._chunked, self._length = False, 0
        return True

    def _unchunk(self) -> Answer | None:
        parts, position = [], 0
        while True:
            line = self._data.find(b"\r\n", position)
            if line < 0:
                return None
            size = int(self._data[position:line].partition(b";")[0], 16)
            start = line + 2
            if len(self._data) < start + size + 2:
                return None
            if size == 0:
                break
            parts.append(self._data[start : start + size])
            position = start + size + 2
        self._data = self._data[start + 2 :]
        return self._whole(b"".join(parts))

    def _whole(self, body: bytes) -> Answer:
        assert self._head is not None
        answer = Answer(self._status, self._head, body)
        self._head, self._length, self._chunked = None, None, False
        return answer
