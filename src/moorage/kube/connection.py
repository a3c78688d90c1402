"""Requests to one API server, over pooled connections or aiohttp sessions."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import aiohttp

from moorage.kube.access import JSON, Access, Failed
from moorage.kube.fence import LeaseFence
from moorage.kube.http1 import HttpPool, RequestWriter, Target
from moorage.kube.kubeconfig import SelectedContext
from moorage.kube.sessions import Sessions
from moorage.kube.sockets import Sockets
from moorage.kube.status_errors import error_from_response
from moorage.observe.client_metrics import ClientMetrics
from moorage.watch.api_errors import ApiError, Unauthorized

OK, CREATED = 200, 201
POOL: Final = 64
"""Requests under way at once; more wait their turn."""


class Connection:
    """Every request to the API server of one kubeconfig context.

    Where credentials are refused, the request is made once more with new ones: the server has done
    nothing yet. What is `fenced` is sent only while the fence is open, where there is one.
    """

    def __init__(
        self, selected: SelectedContext, *, request_seconds: float, fence: LeaseFence | None = None
    ) -> None:
        self._access = access = Access(selected)
        self._seconds = request_seconds
        self._writer = RequestWriter(access.netloc, access.path, access.headers)
        self._sockets = Sockets()
        self._pool = HttpPool(POOL, self._sockets)
        self._urgent = HttpPool(POOL, self._sockets)
        self._sessions = Sessions(access, self._sockets, POOL, request_seconds)
        self.requests = ClientMetrics(access.netloc)
        self._fence = fence
        if fence is not None:
            fence.on_close(self._pool.tear_fenced)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._access.url

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = JSON,
        urgent: bool = False,
        fenced: bool = False,
    ) -> bytes:
        """One short request; anything but success raises an `ApiError`.

        An urgent one does not wait behind others.
        """
        pool = self._urgent if urgent else self._pool
        direct = self._access.proxy is None
        ask = partial(self._ask, pool) if direct else self._sessions.exchange
        fence = self._fence if fenced else None
        return await self._known(method, lambda: ask(method, path, body, content_type, fence))

    async def fetch(self, path: str) -> bytes:
        """One long answer, compressed on its way."""
        return await self._known("GET", lambda: self._sessions.exchange("GET", path, None, JSON))

    @asynccontextmanager
    async def stream(self, path: str, silent_seconds: float) -> AsyncIterator[aiohttp.StreamReader]:
        """An answer as it arrives. Silence for longer than that ends it with a TimeoutError."""
        began, answered = time.monotonic(), False
        try:
            async with self._sessions.stream(path, silent_seconds) as stream:
                answered = True
                self.requests.answered("GET", OK, time.monotonic() - began)
                yield stream
        except ApiError as error:
            if not answered:
                self.requests.answered("GET", error.status, time.monotonic() - began)
            if isinstance(error, Unauthorized):
                self._access.refused()
            raise

    async def close(self) -> None:
        """Close every connection; return when no socket is open."""
        self._pool.close()
        self._urgent.close()
        await self._sessions.close()
        await self._sockets.close()

    async def _known(self, method: str, ask: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            return await self._counted(method, ask)
        except Unauthorized:
            self._access.refused()
            return await self._counted(method, ask)

    async def _counted(self, method: str, ask: Callable[[], Awaitable[bytes]]) -> bytes:
        began = time.monotonic()
        try:
            answer = await ask()
        except ApiError as error:
            self.requests.answered(method, error.status, time.monotonic() - began)
            raise
        status = CREATED if method == "POST" else OK
        self.requests.answered(method, status, time.monotonic() - began)
        return answer

    async def _ask(
        self,
        pool: HttpPool,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        fence: LeaseFence | None,
    ) -> bytes:
        access = self._access
        credential, context = await access.proof()
        request = self._writer.request(method, path, body, content_type, credential.authorization)
        target = Target(access.host, access.port, context, access.server_name)
        try:
            answer = await pool.ask(target, request, self._seconds, fence)
        except Failed as error:
            raise access.unreachable(method, path, error) from None
        if answer.status >= 300:
            raise error_from_response(answer.status, answer.body, answer.retry_after)
        return answer.body
