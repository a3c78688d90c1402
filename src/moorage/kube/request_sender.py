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

    A `qps` of zero or less means no limit.
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
        """Return when a request may be sent; the seconds that it waited."""
        if self._qps <= 0:
            return 0.0
        delay = self.reserve()
        if delay > 0:
            await self._sleep(delay)
        return delay

    def reserve(self) -> float:
        """Take a token, on credit if there is none; how many seconds to wait for it."""
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

    `qps` and `burst` limit their rate. As in kube-scheduler, events have a bucket of their own.
    Leases are not limited.
    """

    def __init__(self, connection: Connection, qps: float, burst: int) -> None:
        self._connection = connection
        self._bucket = TokenBucket(qps, burst, time.monotonic)
        self._buckets = {
            EVENTS.plural: TokenBucket(qps, burst, time.monotonic),
            LEASES.plural: TokenBucket(0, 1, time.monotonic),
        }

    async def turn(self, resource: Resource, method: str = "GET") -> None:
        """Return when the rate limit allows a request."""
        waited = await self._buckets.get(resource.plural, self._bucket).take()
        self._connection.requests.waited(method, waited)

    async def repeat(
        self, resource: Resource, method: str, path: str, body: Any = None, content_type: str = JSON
    ) -> bytes:
        """Send an idempotent request; repeat it after server errors."""
        for tried in range(1, TRIES):
            try:
                return await self.once(resource, method, path, body, content_type)
            except ServerError:
                await asyncio.sleep(RETRY_SECONDS * tried)
        return await self.once(resource, method, path, body, content_type)

    async def once(
        self, resource: Resource, method: str, path: str, body: Any = None, content_type: str = JSON
    ) -> bytes:
        """Send a request; repeat it only if the server answers 429 with a Retry-After."""
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
        """Send a request once, when the rate limit allows it."""
        await self.turn(resource, method)
        return await self._connection.request(
            method,
            path,
            body=None if body is None else encode_body(body),
            content_type=content_type,
            urgent=resource is LEASES,
            fenced=is_fenced(resource, method),
        )
