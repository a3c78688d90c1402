"""A dashboard of made-up data, which can be told to change fast, to go away and to come back.

The page and its headers are those of the real one; only what `api/` answers is made up.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import msgspec
from aiohttp import web

from moorage.dashboard.page_files import PageFiles
from tests.browser import stub_answers as answers

API: Final = "/dashboard/api"
JSON: Final = "application/json"


class StubDashboard:
    """Serves on a thread of its own; `changes` is how many rows change per second."""

    def __init__(self, nodes: int = 5000, changes: int = 0) -> None:
        self.cluster = answers.cluster(nodes)
        self.changes = changes
        self.sent = 0
        self.port = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/dashboard/"

    def start(self) -> None:
        """Begin to answer, at the port of last time."""
        ready = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._serve(ready.set),), daemon=True
        )
        self._thread.start()
        assert ready.wait(10)

    def stop(self) -> None:
        """Go away: connections break, and nobody answers."""
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    async def _serve(self, ready: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        runner = web.AppRunner(self._app(), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = runner.addresses[0][1]
        ready()
        await self._end.wait()
        await runner.cleanup()

    def _app(self) -> web.Application:
        app, files = web.Application(), PageFiles()
        app.router.add_get("/dashboard/", files.get)
        app.router.add_get("/dashboard/page/{file}", files.get)
        app.router.add_get(f"{API}/cluster", _json(lambda _: self.cluster))
        app.router.add_get(f"{API}/node/{{name}}", _json(lambda asked: answers.node(asked["name"])))
        app.router.add_get(f"{API}/pod/{{ns}}/{{name}}", _json(answers.pod))
        for name, answer in answers.PLAIN.items():
            app.router.add_get(f"{API}/{name}", _json(answer))
        app.router.add_get(f"{API}/stream", self._stream)
        return app

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            async for kind, data in self._events():
                body = msgspec.json.encode(data)
                await response.write(b"event: %s\ndata: %s\n\n" % (kind.encode(), body))
        except ConnectionResetError:
            pass
        return response

    async def _events(self) -> AsyncIterator[tuple[str, Any]]:
        """Four times a second what changed meanwhile, as the real one tells it."""
        yield "queue", {"counts": answers.COUNTS, "top": []}
        yield "health", {"ok": True, "alerts": 1}
        last = time.monotonic()
        while not self._end.is_set():
            await asyncio.sleep(0.25)
            now = time.monotonic()
            rows, last = int(self.changes * (now - last)) + 1, now
            if self.changes:
                self.sent += rows
                yield "cluster", answers.changed(self.cluster, rows, self.sent)
                yield "decisions", answers.decided(50, self.sent, time.time())


def _json(answer: Callable[[Any], Any]) -> Callable[[web.Request], Any]:
    async def get(request: web.Request) -> web.Response:
        body = msgspec.json.encode(answer(request.match_info))
        return web.Response(body=body, content_type=JSON)

    return get
