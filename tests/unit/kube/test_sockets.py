"""Sockets that are closed however a connection ends, or does not begin."""

import asyncio
import gc
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest

from moorage.kube import connection
from moorage.kube.http1 import HttpConnection, Target
from moorage.kube.http_pool import HttpPool
from moorage.kube.http_stream import HttpStream
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import Cluster, SelectedContext, User
from moorage.kube.sockets import AddressInfo, Sockets
from moorage.watch.api_resources import PODS

REQUEST = b"GET / HTTP/1.1\r\n\r\n"


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A socket that was left open warns here, and warnings are errors."""
    gc.freeze()  # what other tests have left is not looked at
    yield
    gc.collect()


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


def selected(host: str, port: int) -> SelectedContext:
    cluster = Cluster(server=f"https://{host}:{port}", insecure_skip_tls_verify=True)
    return SelectedContext("here", "one", "a", cluster, User(token="t"), "")


@pytest.mark.parametrize(
    ("ask", "opened"),
    [
        pytest.param(lambda s: s.get(PODS, "d", "web"), HttpConnection, id="a short request"),
        pytest.param(lambda s: s.list_page(PODS), HttpConnection, id="a list"),
        pytest.param(
            lambda s: anext(s.watch(PODS, resource_version="1")), HttpStream, id="a watch"
        ),
    ],
)
def test_a_request_that_is_cancelled_as_its_connection_opens_leaves_no_socket(
    certified: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[KubeApiServer], Coroutine[Any, Any, object]],
    opened: Any,
) -> None:
    """asyncio would say goodbye to the server, for up to half a minute, with nobody waiting."""
    sockets, asking = Kept(), list[asyncio.Task[object]]()
    connection_made = opened.connection_made

    def cancel(protocol: Any, transport: asyncio.BaseTransport) -> None:
        connection_made(protocol, transport)
        asking[0].cancel()

    monkeypatch.setattr(opened, "connection_made", cancel)
    monkeypatch.setattr(connection, "Sockets", lambda: sockets)

    async def scenario(host: str, port: int) -> None:
        server = KubeApiServer(selected(host, port), qps=0)
        asking.append(asyncio.create_task(ask(server)))
        await asyncio.wait(asking)
        await server.close()

        assert [made.fileno() for made in sockets.made] == [-1]

    play(scenario, certified)
    assert asking[0].cancelled()


def test_closing_ends_requests_under_way() -> None:
    sockets = Kept()

    async def scenario(host: str, port: int) -> None:
        pool = HttpPool(1, sockets)
        ask = asyncio.ensure_future(pool.ask(Target(host, port, None, ""), REQUEST, 60.0))
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
