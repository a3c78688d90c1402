"""TLS by our own hands: what is agreed on, said, refused and cut short."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from moorage.kube.answers import Answer
from moorage.kube.secrecy import Secrecy
from moorage.kube.sockets import Sockets
from moorage.kube.wire import Target, WireError
from moorage.kube.wires import Wires

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\nhello"
LARGE = b"x" * 1_000_000

Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Server:
    """The other side, in memory."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ssl = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def agree(self, received: bytes) -> bytes:
        self.incoming.write(received)
        with contextlib.suppress(ssl.SSLWantReadError):
            self.ssl.do_handshake()
        return self.outgoing.read()

    def say(self, plain: bytes) -> bytes:
        self.ssl.write(plain)
        return self.outgoing.read()

    def end(self) -> bytes:
        with contextlib.suppress(ssl.SSLWantReadError):
            self.ssl.unwrap()
        return self.outgoing.read()


def agreed(certificate: Path, certified: ssl.SSLContext) -> tuple[Secrecy, Server]:
    ours = Secrecy(ssl.create_default_context(cafile=str(certificate / "crt")), "localhost")
    theirs, said = Server(certified), ours.agree()
    while not ours.ready:
        said = ours.agree(theirs.agree(said))
    ours.open(theirs.agree(said))
    return ours, theirs


def test_what_is_sealed_is_read_by_the_other_side_alone(
    certificate: Path, certified: ssl.SSLContext
) -> None:
    ours, theirs = agreed(certificate, certified)
    sealed = ours.seal(b"hello")
    theirs.incoming.write(sealed)

    assert theirs.ssl.read() == b"hello"
    assert b"hello" not in sealed


@pytest.mark.parametrize("size", [1, 1000, 100_000])
def test_what_comes_in_pieces_is_put_together(
    certificate: Path, certified: ssl.SSLContext, size: int
) -> None:
    ours, theirs = agreed(certificate, certified)
    sealed = theirs.say(LARGE[:20_000])

    opened = b"".join(ours.open(sealed[i : i + size]) for i in range(0, len(sealed), size))
    assert opened == LARGE[:20_000]
    assert not ours.ended


def test_an_end_that_is_said_is_told_from_one_that_is_not(
    certificate: Path, certified: ssl.SSLContext
) -> None:
    ours, theirs = agreed(certificate, certified)

    assert ours.open(theirs.say(b"bye") + theirs.end()) == b"bye"
    assert ours.ended


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
        wires = Wires(1, sockets)
        async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context) as server:
            host, port = server.sockets[0].getsockname()
            try:
                where = Target(host, port, target, name)
                return await wires.ask(where, b"GET / HTTP/1.1\r\n\r\n", 20.0)
            finally:
                wires.close()
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


def test_an_answer_without_a_length_is_whole_when_its_end_is_said(
    certificate: Path, certified: ssl.SSLContext
) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(ENDLESS)
        writer.close()

    assert play(certified, trusting(certificate), "localhost", answer).body == b"hello"


def test_an_answer_without_a_length_is_not_whole_when_it_is_cut(
    certificate: Path, certified: ssl.SSLContext
) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(ENDLESS)
        await writer.drain()
        writer.transport.abort()

    with pytest.raises(WireError):
        play(certified, trusting(certificate), "localhost", answer)
