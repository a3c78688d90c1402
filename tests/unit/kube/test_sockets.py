"""Sockets that are closed however a connection ends, or does not begin."""

import asyncio
import gc
import shutil
import socket
import ssl
import subprocess
from collections.abc import Awaitable, Callable, Iterator

import pytest

from moorage.kube.answers import Answer
from moorage.kube.sockets import AddressInfo, Sockets
from moorage.kube.wire import Target, Wire, Wires

REQUEST = b"GET / HTTP/1.1\r\n\r\n"


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A socket that was left open warns here, and warnings are errors."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """How a server proves itself, to those who take any proof."""
    if shutil.which("openssl") is None:
        pytest.skip("makes no certificates")
    folder = tmp_path_factory.mktemp("certified")
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "crt")]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command = ["openssl", "req", "-x509", *curve, "-days", "1", "-subj", "/CN=a", *files]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", folder / "key")
    return context


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Kept(Sockets):
    """Sockets that can be looked at when they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[socket.socket] = []

    def make(self, info: AddressInfo) -> socket.socket:
        self.made.append(super().make(info))
        return self.made[-1]

    @property
    def connected(self) -> bool:
        return any(_connected(made) for made in self.made)


def _connected(made: socket.socket) -> bool:
    try:
        made.getpeername()
    except OSError:
        return False
    return True


def play(
    scenario: Callable[[str, int], Awaitable[None]], context: ssl.SSLContext | None = None
) -> None:
    """Give the scenario a server that listens and says nothing."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    async def main() -> None:
        server = await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context)
        async with server:
            await scenario(*server.sockets[0].getsockname())

    asyncio.run(main())


def test_a_request_that_is_cancelled_as_tls_is_agreed_on_leaves_no_socket(
    certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio would say goodbye to the server, for up to half a minute, with nobody waiting."""
    sockets, asking = Kept(), list[asyncio.Task[Answer]]()
    connection_made = Wire.connection_made

    def cancel(wire: Wire, transport: asyncio.BaseTransport) -> None:
        connection_made(wire, transport)
        asking[0].cancel()

    monkeypatch.setattr(Wire, "connection_made", cancel)

    async def scenario(host: str, port: int) -> None:
        wires = Wires(1, sockets)
        target = Target(host, port, trusting(), "x")
        asking.append(asyncio.create_task(wires.ask(target, REQUEST, 5.0)))
        await asyncio.wait(asking)
        wires.close()
        await sockets.close()

        assert [made.fileno() for made in sockets.made] == [-1]

    play(scenario, certified)
    assert asking[0].cancelled()


def test_closing_ends_requests_under_way() -> None:
    sockets = Kept()

    async def scenario(host: str, port: int) -> None:
        wires = Wires(1, sockets)
        ask = asyncio.ensure_future(wires.ask(Target(host, port, None, ""), REQUEST, 60.0))
        while not sockets.connected:  # noqa: ASYNC110 a kernel has no event to wait for
            await asyncio.sleep(0)
        await sockets.close()
        with pytest.raises(ConnectionError):
            await ask

        assert [made.fileno() for made in sockets.made] == [-1]

    play(scenario)


def test_nothing_is_opened_after_closing() -> None:
    async def scenario(host: str, port: int) -> None:
        sockets = Sockets()
        await sockets.close()
        with pytest.raises(ConnectionError, match="closed"):
            await sockets.connect(host, port)

    play(scenario)


def test_a_host_without_a_listener_says_so() -> None:
    async def scenario(host: str, port: int) -> None:
        with socket.socket() as free:
            free.bind((host, 0))
            with pytest.raises(ConnectionRefusedError):
                await Sockets().connect(host, free.getsockname()[1])

    play(scenario)
