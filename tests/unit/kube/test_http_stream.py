"""Answers that are read as they arrive, over real sockets."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moorage.kube import http_stream
from moorage.kube.http1 import HttpError, Target
from moorage.kube.http_pool import HttpPool
from moorage.kube.http_stream import HttpStream, StreamOpener
from moorage.kube.sockets import Sockets
from moorage.watch.api_errors import TooManyRequests

REQUEST = b"GET / HTTP/1.1\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]
Open = Callable[[], Awaitable[HttpStream]]


def play(
    serve: Serve, scenario: Callable[[Open], Awaitable[None]], silent_seconds: float = 5.0
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await serve(writer)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    async def main() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        target = Target(host, port, None, "")
        sockets = Sockets()
        opener = StreamOpener(sockets, HttpPool(1, sockets), 1.0)
        try:
            await scenario(lambda: opener.open(target, REQUEST, silent_seconds))
        finally:
            await sockets.close()
            server.close()

    asyncio.run(main())


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def writes(raw: bytes, size: int) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(raw), size):
            writer.write(raw[start : start + size])
            await asyncio.sleep(0)
        await asyncio.sleep(3600)

    return serve


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_it_is_read_to_its_end_in_whatever_pieces_it_comes(size: int) -> None:
    async def scenario(opened: Open) -> None:
        stream = await opened()
        assert await stream.read_all() == b"one\ntwo\n"
        assert await stream.readany() == b""

    play(writes(HEAD + chunk(b"one\nt") + chunk(b"wo\n") + chunk(b""), size), scenario)


def test_a_refusal_is_read_whole_and_says_when_to_come_again() -> None:
    refusal = b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 3\r\n\r\nnot"

    async def scenario(opened: Open) -> None:
        with pytest.raises(TooManyRequests) as refused:
            await opened()
        assert refused.value.retry_after == 7

    play(writes(refusal, 10), scenario)


def test_what_arrived_before_a_connection_broke_is_read_first() -> None:
    async def breaks(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"one\n"))
        await writer.drain()

    async def scenario(opened: Open) -> None:
        stream = await opened()
        await asyncio.sleep(0.05)
        assert await stream.readany() == b"one\n"
        with pytest.raises(HttpError):
            await stream.readany()

    play(breaks, scenario)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", id="half a head"),
    ],
)
def test_an_answer_that_does_not_begin_is_given_up(raw: bytes) -> None:
    async def scenario(opened: Open) -> None:
        with pytest.raises(TimeoutError):
            await opened()

    play(writes(raw, 100), scenario, silent_seconds=0.05)


def test_silence_is_counted_from_what_was_heard_last() -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for _ in range(4):
            await asyncio.sleep(0.06)
            writer.write(chunk(b"x"))
        await asyncio.sleep(3600)

    async def scenario(opened: Open) -> None:
        stream = await opened()
        assert [await stream.readany() for _ in range(4)] == [b"x"] * 4
        with pytest.raises(TimeoutError):
            await stream.readany()

    play(slow, scenario, silent_seconds=0.15)


def test_a_slow_reader_holds_up_the_server_and_misses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_stream, "HIGH_WATER", 1 << 16)
    sent, part, parts = 0, chunk(b"x" * (1 << 16)), 400

    async def floods(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD)
        for _ in range(parts):
            writer.write(part)
            await writer.drain()
            sent += 1
        writer.write(chunk(b""))
        await asyncio.sleep(3600)

    async def scenario(opened: Open) -> None:
        stream = await opened()
        await asyncio.sleep(0.2)
        assert sent < parts
        assert len(await stream.read_all()) == parts * (1 << 16)

    play(floods, scenario, silent_seconds=0.1)


class Listing:
    """A server that answers lists, streams after them, and may close a connection in between."""

    def __init__(self, *, closes: bool = False) -> None:
        self.connections = 0
        self._closes = closes

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while asked := await reader.readuntil(b"\r\n\r\n"):
                watched = b"watch" in asked
                if watched and self._closes and self.connections == 1:
                    return
                writer.write(HEAD + chunk(b"one\n") + chunk(b"") if watched else LISTED)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()


LISTED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
WATCH = b"GET /watch HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("closes", "connections"),
    [
        pytest.param(False, 1, id="a watch takes over the connection of its list"),
        pytest.param(True, 2, id="one that the server has closed is made anew"),
    ],
)
def test_a_watch_after_a_list(closes: bool, connections: int) -> None:
    server = Listing(closes=closes)

    async def main() -> None:
        listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
        host, port = listening.sockets[0].getsockname()
        sockets, target = Sockets(), Target(host, port, None, "")
        pool = HttpPool(1, sockets)
        assert (await pool.ask(target, REQUEST, 1.0)).body == b"{}"
        stream = await StreamOpener(sockets, pool, 1.0).open(target, WATCH, 1.0)
        assert await stream.read_all() == b"one\n"
        stream.close()
        pool.close()
        await sockets.close()
        listening.close()
        await listening.wait_closed()
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert server.connections == connections
