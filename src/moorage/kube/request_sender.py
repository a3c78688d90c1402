"""API requests within client-side rate limits, retried where that is safe."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from moorage.kube.access import JSON
from moorage.kube.connection import Connection
from moorage.kube.fence import is_fenced
from moorage.watch.api_errors import ServerError, TooManyRequests
from moorage.watch.api_resources import EVENTS, LEASES, Resource


class TokenBucket:
    """Lets `burst` requests through at once and `qps` per second after that, in order.

    A `qps` of zero or less lets everything through.
    """

    def __init__(
        self,
        qps: float,
        burst: int,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._now = now
        self._sleep = sleep
        self._tokens = self._burst
        self._filled = now()

    async def take(self) -> float:
        """Return when it is this request's turn, with the seconds that took."""
        if self._qps <= 0:
            return 0.0
        delay = self.reserve()
        if delay > 0:
            await self._sleep(delay)
        return delay

    def reserve(self) -> float:
        """Take a token, on credit where there is none, and say how long to wait for it."""
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now
        self._tokens -= 1
        return -self._tokens / self._qps if self._tokens < 0 else 0.0


TRIES: Final = 5
RETRY_SECONDS: Final = 0.2

encode_body = msgspec.json.Encoder().encode


class RequestSender:
    """Sends requests to one API server.

    `qps` and `burst` pace them; events have a bucket of their own, as kube-scheduler's do, and
    leases wait for nobody.
    """

    def __init__(self, connection: Connection, qps: float, burst: int) -> None:
        self._connection = connection
        self._bucket = TokenBucket(qps, burst, time.monotonic)
        self._buckets = {
            EVENTS.plural: TokenBucket(qps, burst, time.monotonic),
            LEASES.plural: TokenBucket(0, 1, time.monotonic),
        }

    async def turn(self, resource: Resource, method: str = "GET") -> None:
        """Return when it is a request's turn."""
        waited = await self._buckets.get(resource.plural, self._bucket).take()
        self._connection.requests.waited(method, waited)

    async def repeat(
        self, resource: Resource, method: str, path: str, body: Any = None, content_type: str = JSON
    ) -> bytes:
        """A request that does the same however often it is made."""
        for tried in range(1, TRIES):
            try:
                return await self.once(resource, method, path, body, content_type)
            except ServerError:
                await asyncio.sleep(RETRY_SECONDS * tried)
        return await self.once(resource, method, path, body, content_type)

    async def once(
        self, resource: Resource, method: str, path: str, body: Any = None, content_type: str = JSON
    ) -> bytes:
        """A request that is made again only where the server says when, having done nothing."""
        for _ in range(1, TRIES):
            try:
                return await self.send(resource, method, path, body, content_type)
            except TooManyRequests as error:
                if not error.retry_after:
                    raise
                await asyncio.sleep(error.retry_after)
        return await self.send(resource, method, path, body, content_type)

    async def send(
        self, resource: Resource, method: str, path: str, body: Any = None, content_type: str = JSON
    ) -> bytes:
        """A request that is made when its turn comes, once."""
        await self.turn(resource, method)
        return await self._connection.request(
            method,
            path,
            body=None if body is None else encode_body(body),
            content_type=content_type,
            urgent=resource is LEASES,
            fenced=is_fenced(resource, method),
        )
