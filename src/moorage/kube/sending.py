"""Requests at their pace, repeated where repeating them is safe."""

import asyncio
import time
from typing import Any, Final

import msgspec

from moorage.kube.access import JSON
from moorage.kube.connection import Connection
from moorage.kube.limits import TokenBucket
from moorage.watch.errors import ServerError, TooManyRequests
from moorage.watch.resources import EVENTS, LEASES, Resource

TRIES: Final = 5
RETRY_SECONDS: Final = 0.2

encode = msgspec.json.Encoder().encode


class Sender:
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

    async def turn(self, resource: Resource) -> None:
        """Return when it is a request's turn."""
        await self._buckets.get(resource.plural, self._bucket).take()

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
        await self.turn(resource)
        return await self._connection.request(
            method,
            path,
            body=None if body is None else encode(body),
            content_type=content_type,
            urgent=resource is LEASES,
        )
