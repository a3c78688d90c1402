"""Proxies that stand between a scheduler and an API server, to do harm:

TcpProxy    passes bytes on, until its connections are cut or it closes its doors
HttpProxy   passes requests on, except those that a test answers, delays or lets fall silent
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import TracebackType

import aiohttp
from aiohttp import web

from moorage.kube.sockets import Sockets
from tests.integration.control_plane import LOOPBACK, ControlPlane

Fault = Callable[[web.Request, "Forward"], Awaitable[web.StreamResponse | None]]
"""Answers a request in the server's place, or None to pass it on."""
Forward = Callable[[], Awaitable[web.StreamResponse]]

_CHUNK = 1 << 16
LATE_ROUNDS = 4
"""A connection that was accepted just before the doors closed is handed over a little later."""
_HOP = {"transfer-encoding", "connection", "content-length", "host"}


class TcpProxy:
    """A port that leads to the API server."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.cut_after: Iterator[int] = iter(())
        """How many bytes of answers each new connection lives for; when these are up, for ever."""
        self.broken_off = 0

    async def __aenter__(self) -> "TcpProxy":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    def kubeconfig(self, folder: Path) -> Path:
        url = f"https://{LOOPBACK}:{self.port}"
        return self._plane.write_kubeconfig(folder / "through-tcp.yaml", url)

    async def open(self) -> None:
        """Let connections in, at the same port as before."""
        self._server = await asyncio.start_server(self._accept, LOOPBACK, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Cut every connection and let none in."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for _ in range(LATE_ROUNDS):
            self.cut()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)

    def cut(self) -> None:
        """Break every connection, as a crash would."""
        for writer in list(self._writers):
            writer.transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A task that is cancelled before it began closes nothing: know the connection first."""
        self._writers.add(writer)
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            upstream = await asyncio.open_connection(LOOPBACK, self._plane.port)
            ends.append(upstream[1])
            self._writers.add(upstream[1])
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, upstream[1]))
                both.create_task(self._answer(upstream[0], writer))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            for end in ends:
                end.transport.abort()
                self._writers.discard(end)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = next(self.cut_after, 0)
        while left and (chunk := await reader.read(left)):
            writer.write(chunk)
            await writer.drain()
            left -= len(chunk)
            if not left:
                self.broken_off += 1
                raise ConnectionResetError("cut by intention")
        await _pump(reader, writer)


@contextlib.asynccontextmanager
async def _closing(sockets: Sockets) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await sockets.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    raise ConnectionResetError("one side has gone")


class HttpProxy:
    """An HTTP port that leads to the API server; `fault` is asked about each request."""

    def __init__(self, plane: ControlPlane, fault: Fault) -> None:
        self._plane = plane
        self._fault = fault
        self.port = 0

    def kubeconfig(self, folder: Path) -> Path:
        url = f"http://{LOOPBACK}:{self.port}"
        return self._plane.write_kubeconfig(folder / "through-http.yaml", url)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["HttpProxy"]:
        context = ssl.create_default_context(cafile=str(self._plane.ca_file))
        sockets = Sockets()
        connector = aiohttp.TCPConnector(ssl=context, limit=0, socket_factory=sockets.make)
        timeout = aiohttp.ClientTimeout(total=None)
        async with (
            _closing(sockets),
            aiohttp.ClientSession(
                connector=connector, timeout=timeout, auto_decompress=False
            ) as self._session,
        ):
            app = web.Application(client_max_size=1 << 24)
            app.router.add_route("*", "/{tail:.*}", self._handle)
            runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            try:
                site = web.TCPSite(runner, LOOPBACK, 0)
                await site.start()
                self.port = runner.addresses[0][1]
                yield self
            finally:
                await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        async def forward() -> web.StreamResponse:
            return await self._forward(request)

        answer = await self._fault(request, forward)
        return await forward() if answer is None else answer

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        body = await request.read()
        url = self._plane.url + request.raw_path
        async with self._session.request(
            request.method, url, headers=headers, data=body or None
        ) as upstream:
            kept = {k: v for k, v in upstream.headers.items() if k.lower() not in _HOP}
            if "watch=1" not in request.query_string:
                raw = await upstream.read()
                return web.Response(status=upstream.status, headers=kept, body=raw)
            response = web.StreamResponse(status=upstream.status, headers=kept)
            await response.prepare(request)
            with contextlib.suppress(ConnectionResetError):
                async for chunk in upstream.content.iter_any():
                    await response.write(chunk)
            return response


def is_binding(request: web.Request) -> bool:
    return request.method == "POST" and request.path.endswith("/binding")


def status(code: int, reason: str, **headers: str) -> web.Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": f"{reason}, by intention"}
    return web.json_response(body, status=code, headers=headers)


def hang_up(request: web.Request) -> web.StreamResponse:
    """Break the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@contextlib.asynccontextmanager
async def tunnel(asked: list[str]) -> AsyncIterator[str]:
    """The URL of a proxy that opens tunnels; it notes where to."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.partition("\r\n")[0])
        host, _, port = head.split()[1].rpartition(":")
        upstream = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, upstream[1]))
                both.create_task(_pump(upstream[0], writer))
        except* OSError:
            pass
        finally:
            for end in (writer, upstream[1]):
                end.transport.abort()

    server = await asyncio.start_server(serve, LOOPBACK, 0)
    async with server:
        yield f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
