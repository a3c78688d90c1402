"""Short HTTP requests over real sockets, and answers in every piece they may come in."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moorage.kube import http1
from moorage.kube.http1 import Answer, HttpConnection, HttpError, Target
from moorage.kube.http_pool import HttpPool
from moorage.kube.sockets import Sockets

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 7\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2;note=x\r\nlo\r\n0\r\n\r\n"
)
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
INFORMED = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SIZED


Serve = Callable[["World", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class World:
    """A server that does to each request on each connection what the test says."""

    def __init__(self, serve: Serve) -> None:
        self.connections = self.open = 0
        self.at_once = self.most_at_once = 0
        self.asked = asyncio.Event()
        self._serve = serve

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked.set()
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                await self._serve(self, reader, writer)
                self.at_once -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.transport.abort()

    def play(
        self, scenario: Callable[[Callable[[], Awaitable[Answer]]], Awaitable[None]], limit: int = 8
    ) -> None:
        async def main() -> None:
            server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
            host, port = server.sockets[0].getsockname()
            sockets = Sockets()
            pool = HttpPool(limit, sockets)
            try:
                await scenario(
                    lambda: pool.ask(Target(host, port, None, ""), b"GET / HTTP/1.1\r\n\r\n", 0.2)
                )
            finally:
                pool.close()
                await sockets.close()
                server.close()
                await server.wait_closed()
                await asyncio.sleep(0)

        asyncio.run(main())


async def answers(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0)
    writer.write(SIZED)


async def closes(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SIZED.replace(b"Retry-After: 7", b"Connection: close"))


async def breaks(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def chatters(
    world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(SIZED + SIZED)


async def is_silent_once(
    world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if world.connections > 1:
        writer.write(SIZED)


def test_a_connection_serves_one_request_after_the_other() -> None:
    world = World(answers)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        for _ in range(10):
            assert (await ask()).body == b"hello"

    world.play(scenario)
    assert world.connections == 1


def test_requests_at_once_take_connections_of_their_own_up_to_the_limit() -> None:
    world = World(answers)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        found = await asyncio.gather(*(ask() for _ in range(30)))
        assert [answer.body for answer in found] == [b"hello"] * 30

    world.play(scenario, limit=4)
    assert world.connections <= 4
    assert world.most_at_once <= 4


def test_connections_of_a_burst_that_nobody_needs_any_more_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(answers)
    monkeypatch.setattr(http1, "IDLE_SECONDS", 0.2)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        await asyncio.gather(*(ask() for _ in range(6)))
        assert world.open > 1
        async with asyncio.timeout(20.0):
            while world.open > 1:
                await ask()
                await asyncio.sleep(0.05)

    world.play(scenario)


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    world = World(closes)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        for _ in range(3):
            assert (await ask()).status == 200

    world.play(scenario)
    assert world.connections == 3


def test_a_connection_that_breaks_is_told() -> None:
    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        with pytest.raises(HttpError):
            await ask()

    World(breaks).play(scenario)


def test_after_a_time_out_no_answer_meets_the_wrong_question() -> None:
    world = World(is_silent_once)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        with pytest.raises(TimeoutError):
            await ask()
        assert (await ask()).body == b"hello"

    world.play(scenario)
    assert world.connections == 2


def test_a_cancelled_request_ends_its_connection_and_frees_its_turn() -> None:
    world = World(is_silent_once)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        first = asyncio.ensure_future(ask())
        await world.asked.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert (await ask()).body == b"hello"

    world.play(scenario, limit=1)
    assert world.connections == 2


def test_an_answer_nobody_asked_for_ends_the_connection() -> None:
    world = World(chatters)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        for _ in range(2):
            assert (await ask()).body == b"hello"
            await asyncio.sleep(0.01)

    world.play(scenario)


@pytest.mark.parametrize("cut", [1, 20, len(SIZED) - 1], ids=["a byte", "a head", "a body"])
def test_the_rest_of_an_answer_that_nobody_asked_for_is_not_the_next_one(cut: int) -> None:
    unasked = SIZED.replace(b"hello", b"wrong")
    connections: list[asyncio.StreamWriter] = []

    async def serve(
        world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        begun = writer in connections
        connections.append(writer)
        writer.write(unasked[cut:] if begun else SIZED + unasked[:cut])

    world = World(serve)

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        for _ in range(3):
            assert (await ask()).body == b"hello"

    world.play(scenario)
    assert world.connections == 3


def pieces(raw: bytes, size: int) -> Serve:
    async def serve(
        world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for i in range(0, len(raw), size):
            writer.write(raw[i : i + size])
            await asyncio.sleep(0)

    return serve


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param(SIZED, Answer(200, b"hello", "7", ""), id="a body of known length"),
        pytest.param(CHUNKED, Answer(201, b"hello", "", ""), id="a body in chunks"),
        pytest.param(EMPTY, Answer(204, b"", "", ""), id="no body"),
        pytest.param(
            INFORMED, Answer(200, b"hello", "7", ""), id="an answer after a word of its coming"
        ),
        pytest.param(
            SIZED.replace(b"Retry-After: 7", b"content-encoding: gzip"),
            Answer(200, b"hello", "", "gzip"),
            id="a body that is encoded",
        ),
    ],
)
def test_an_answer_is_read_in_whatever_pieces_it_comes(raw: bytes, want: Answer, size: int) -> None:
    world = World(pieces(raw, size))

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        assert [await ask() for _ in range(3)] == [want] * 3

    world.play(scenario)
    assert world.connections == 1


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 abc\r\n\r\n", id="a status that is no number"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n", id="a bad chunk"
        ),
        pytest.param(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", id="a change of protocol"),
    ],
)
def test_nonsense_is_refused(raw: bytes) -> None:
    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        with pytest.raises((HttpError, TimeoutError)):
            await ask()

    World(pieces(raw, 1000)).play(scenario)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhello", id="no length"),
        pytest.param(SIZED[:-1], id="a shorter body than was promised"),
        pytest.param(CHUNKED[:-5], id="no last chunk"),
        pytest.param(SIZED[:20], id="half a head"),
    ],
)
def test_an_answer_that_only_its_connection_ends_is_none(raw: bytes) -> None:
    """Nobody could tell it from one that was cut."""

    async def serve(
        world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(raw)
        writer.close()

    async def scenario(ask: Callable[[], Awaitable[Answer]]) -> None:
        with pytest.raises(HttpError):
            await ask()

    World(serve).play(scenario)


def test_a_connection_that_is_gone_can_be_torn() -> None:
    """Time may run out in the moment in which the server hangs up."""

    async def main() -> None:
        server = await asyncio.start_server(lambda _, to: to.transport.abort(), "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        target = Target(host, port, None, "")
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: HttpConnection(target), host, port)
        await asyncio.sleep(0.2)
        assert not connection.is_open
        connection.tear(TimeoutError())
        server.close()

    asyncio.run(main())
