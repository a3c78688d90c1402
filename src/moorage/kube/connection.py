"""Requests to one API server: counted, repeated with new credentials if these were refused."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol

from moorage.kube.access import JSON, Access
from moorage.kube.direct_requests import DirectRequests
from moorage.kube.fence import LeaseFence
from moorage.kube.http_stream import ByteStream
from moorage.kube.kubeconfig import SelectedContext
from moorage.kube.sockets import Sockets
from moorage.observe.client_metrics import ClientMetrics
from moorage.watch.api_errors import ApiError, Unauthorized

OK, CREATED = 200, 201
POOL: Final = 64
"""The most requests under way at once; more wait."""


class Requests(Protocol):
    """Sends requests to a server; anything but success raises an `ApiError`."""

    async def exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str,
        fence: LeaseFence | None,
        *,
        urgent: bool,
    ) -> bytes:
        """Send one short request. An urgent one does not wait behind others."""
        ...

    async def fetch(self, path: str) -> bytes:
        """GET one long answer, compressed in transit."""
        ...

    def stream(self, path: str, silent_seconds: float) -> AbstractAsyncContextManager[ByteStream]:
        """An answer as it arrives. Silence for longer than that ends it with a TimeoutError."""
        ...

    def tear_fenced(self) -> None:
        """End the fenced requests under way, because the fence is closed."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class Connection:
    """Every request to the API server of one kubeconfig context.

    If credentials are refused, the request is sent once more with new ones: the server has not
    executed it. A `fenced` request is sent only while the fence, if there is one, is open.
    """

    def __init__(
        self, selected: SelectedContext, *, request_seconds: float, fence: LeaseFence | None = None
    ) -> None:
        self._access = access = Access(selected)
        self._sockets = Sockets()
        self._requests = _requests(access, self._sockets, request_seconds)
        self.requests = ClientMetrics(access.netloc)
        self._fence = fence
        if fence is not None:
            fence.on_close(self._requests.tear_fenced)

    @property
    def url(self) -> str:
        """The URL of the server."""
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
        """Send one short request; anything but success raises an `ApiError`.

        An urgent one does not wait behind others.
        """
        exchange, fence = self._requests.exchange, self._fence if fenced else None
        return await self._known(
            method, lambda: exchange(method, path, body, content_type, fence, urgent=urgent)
        )

    async def fetch(self, path: str) -> bytes:
        """One long answer, compressed on its way."""
        return await self._known("GET", lambda: self._requests.fetch(path))

    @asynccontextmanager
    async def stream(self, path: str, silent_seconds: float) -> AsyncIterator[ByteStream]:
        """An answer as it arrives. Silence for longer than that ends it with a TimeoutError."""
        began, answered = time.monotonic(), False
        try:
            async with self._requests.stream(path, silent_seconds) as stream:
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
        await self._requests.close()
        await self._sockets.close()

    async def _known(self, method: str, ask: Callable[[], Awaitable[bytes]]) -> bytes:
        """The answer, counted; asks again with new credentials if the first were refused."""
        renewed = False
        while True:
            began = time.monotonic()
            try:
                answer = await ask()
            except ApiError as error:
                self.requests.answered(method, error.status, time.monotonic() - began)
                if renewed or not isinstance(error, Unauthorized):
                    raise
                self._access.refused()
                renewed = True
            else:
                status = CREATED if method == "POST" else OK
                self.requests.answered(method, status, time.monotonic() - began)
                return answer


def _requests(access: Access, sockets: Sockets, seconds: float) -> Requests:
    if access.proxy is None:
        return DirectRequests(access, sockets, POOL, seconds)
    from moorage.kube.proxied_requests import ProxiedRequests  # aiohttp: few are behind a proxy

    return ProxiedRequests(access, sockets, POOL, seconds)
