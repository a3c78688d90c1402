"""Short requests over TLS: whom we believe, and whom not."""

import asyncio
import gc
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from moorage.kube.http1 import Answer, Target
from moorage.kube.http_pool import HttpPool
from moorage.kube.http_stream import StreamOpener
from moorage.kube.sockets import Sockets

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
LARGE = b"x" * 1_000_000

Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


def play(context: ssl.SSLContext, target: ssl.SSLContext, name: str, serve: Serve) -> Answer:
    """What a server answers that has proven itself."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await serve(writer)
            await reader.read()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.transport.abort()

    async def main() -> Answer:
        sockets = Sockets()
        pool = HttpPool(1, sockets)
        async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context) as server:
            host, port = server.sockets[0].getsockname()
            try:
                where = Target(host, port, target, name)
                return await pool.ask(where, b"GET / HTTP/1.1\r\n\r\n", 20.0)
            finally:
                pool.close()
                await sockets.close()

    return asyncio.run(main())


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate / "crt"))


def test_a_request_is_answered(certificate: Path, certified: ssl.SSLContext) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SIZED.replace(b"5", b"1000000").removesuffix(b"hello") + LARGE)

    assert play(certified, trusting(certificate), "localhost", answer).body == LARGE


async def never(writer: asyncio.StreamWriter) -> None:
    raise AssertionError("nobody was to be asked")


def test_a_server_of_another_name_is_refused(certificate: Path, certified: ssl.SSLContext) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        play(certified, trusting(certificate), "example.com", never)


def test_a_server_that_nobody_vouches_for_is_refused(certified: ssl.SSLContext) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        play(certified, ssl.create_default_context(), "localhost", never)


GET = b"GET / HTTP/1.1\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"


def _held() -> int:
    """How many connections' ends are in memory, each with what it reads into."""
    return sum(type(each) is SSLProtocol for each in gc.get_objects())


@pytest.mark.parametrize("stays_open", [True, False])
def test_a_connection_that_has_ended_leaves_nothing_for_the_collector(
    certificate: Path, certified: ssl.SSLContext, *, stays_open: bool
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = 0
        while await reader.readline():
            asked += await reader.readline() == b"\r\n"
            writer.write(SIZED if asked == 1 else ENDLESS)
            if asked == 2 and not stays_open:
                break
        writer.close()

    async def main() -> int:
        sockets = Sockets()
        pool = HttpPool(1, sockets)
        opener = StreamOpener(sockets, pool, 20.0)
        async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=certified) as server:
            host, port = server.sockets[0].getsockname()
            where = Target(host, port, trusting(certificate), "localhost")
            await pool.ask(where, GET, 20.0)
            stream = await opener.open(where, GET, 20.0)
            assert await stream.readany() == b"hello"
            stream.close()
            del stream
            await pool.ask(where, GET, 20.0)
            pool.close()
            await sockets.close()
        for _ in range(100):  # the other ends, which the test opened, take their time
            await asyncio.sleep(0.05)
            if not _held():
                break
        return _held()

    gc.collect()
    gc.freeze()  # what other tests have left is not looked at
    gc.disable()
    try:
        assert asyncio.run(main()) == 0
    finally:
        gc.enable()
