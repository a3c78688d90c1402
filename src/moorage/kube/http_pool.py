"""A pool of connections to API servers that requests share.

A TLS handshake costs both ends as much as several requests. So a burst of requests does not begin
with as many handshakes:

1. A few connections are opened at once, and more only if a request has waited for long.
2. A request uses whichever is ready first: a new connection, or one that another request returns.
3. Connections that have not been used for a minute are closed.

If a server cannot be reached, all requests that wait for a connection to it fail.
"""

import asyncio
from collections import deque
from typing import Final, NamedTuple

from moorage.kube.fence import LeaseFence
from moorage.kube.http1 import Answer, HttpConnection, HttpError, Target, connect
from moorage.kube.sockets import Sockets

OPENED_AT_ONCE: Final = 8
PATIENCE_SECONDS: Final = 0.25
"""How long requests share these few connections: one that waits longer has a slow server."""
LOOK_SECONDS: Final = 0.5
"""The most time between two checks for overdue answers; at most a tenth of a request's seconds."""


class _Waiter(NamedTuple):
    """A request without a connection yet."""

    target: Target
    turn: asyncio.Future[HttpConnection]
    since: float


class HttpPool:
    """At most `limit` requests are under way at once, the others wait.

    At most `at_once` connections are being opened at any time.
    """

    def __init__(self, limit: int, sockets: Sockets, at_once: int = OPENED_AT_ONCE) -> None:
        self._limit = limit
        self._at_once = at_once
        self._sockets = sockets
        self._free: deque[HttpConnection] = deque()
        self._asked: set[HttpConnection] = set()
        """Connections in use, also before the request is written."""
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[_Waiter] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._closed = False

    async def ask(
        self, target: Target, request: bytes, seconds: float, fence: LeaseFence | None = None
    ) -> Answer:
        """Send one request; its answer is due `seconds` after it is sent, or a tenth more.

        A request with a fence is sent only while the fence is open, and torn before the lease ends.
        """
        connection = self.take(target) or await self._next(target)
        self._asked.add(connection)
        if self._alarm is None:
            self._look_after(min(LOOK_SECONDS, seconds / 10))
        try:
            return await connection.ask(request, seconds, fence)
        except BaseException:
            connection.close()
            raise
        finally:
            self._give(connection)

    def warm_up(self, target: Target) -> None:
        """Open the first connections in advance."""
        for _ in range(self._at_once - len(self._free) - len(self._opening)):
            self._open(target)

    def tear_fenced(self) -> None:
        """End the fenced requests under way, because the fence is closed."""
        for connection in [each for each in self._asked if each.fence is not None]:
            connection.tear(HttpError("the lease ended"))

    def close(self) -> None:
        """Close every connection, also those that are returned later."""
        self._closed = True
        for timer in (self._alarm, self._patience):
            if timer is not None:
                timer.cancel()
        for opening in self._opening:
            opening.cancel()
        for connection in (*self._free, *self._asked):
            connection.close()
        self._free.clear()
        self._refuse(HttpError("the connection is closed"))

    def take(self, target: Target) -> HttpConnection | None:
        """Take the free connection that was used last, if it fits; close those that do not."""
        now = asyncio.get_running_loop().time()
        while self._free:
            found = self._free.pop()
            if found.is_open and found.target == target and not found.is_idle(now):
                return found
            found.close()
        return None

    async def _next(self, target: Target) -> HttpConnection:
        """Wait for a connection to the target; the longest waiting request gets the next one."""
        if self._closed:
            raise HttpError("the connection is closed")
        loop = asyncio.get_running_loop()
        waiter = _Waiter(target, loop.create_future(), loop.time())
        self._waiting.append(waiter)
        self._open_more()
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if not waiter.turn.cancelled() and waiter.turn.exception() is None:
                self._give(waiter.turn.result())
            raise

    def _give(self, connection: HttpConnection) -> None:
        """Give a connection to the longest waiting request, or keep it as free."""
        self._asked.discard(connection)
        waiter = self._first_waiter()
        if self._closed or not connection.is_open:
            connection.close()
        elif waiter is None:
            self._free.append(connection)
            while self._free[0].is_idle(connection.used):
                self._free.popleft().close()
        elif waiter.target == connection.target:
            self._waiting.popleft()
            self._asked.add(connection)
            waiter.turn.set_result(connection)
        else:
            connection.close()
        self._open_more()

    def _first_waiter(self) -> _Waiter | None:
        while self._waiting and self._waiting[0].turn.done():
            self._waiting.popleft()
        return self._waiting[0] if self._waiting else None

    def _open_more(self) -> None:
        """Open connections for waiting requests, as far as the limits allow."""
        waiter = self._first_waiter()
        if waiter is None:
            return
        loop = asyncio.get_running_loop()
        left = waiter.since + PATIENCE_SECONDS - loop.time()
        enough = self._at_once if left > 0 else self._limit
        while len(self._opening) < min(self._at_once, len(self._waiting)) and len(
            self._opening
        ) + len(self._asked) < min(enough, self._limit):
            self._open(waiter.target)
        if left > 0 and self._patience is None:
            self._patience = loop.call_later(left, self._lose_patience)

    def _lose_patience(self) -> None:
        self._patience = None
        self._open_more()

    def _open(self, target: Target) -> None:
        self._opening.add(asyncio.create_task(self._connect(target), name="kube/connect"))

    async def _connect(self, target: Target) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            made = await connect(self._sockets, target, lambda: HttpConnection(target))
        except Exception as error:  # all waiting requests must fail with it
            self._opening.discard(task)
            self._refuse(error)
        else:
            self._opening.discard(task)
            made.used = asyncio.get_running_loop().time()
            self._give(made)

    def _refuse(self, error: Exception) -> None:
        """Fail all waiting requests."""
        while self._waiting:
            turn = self._waiting.popleft().turn
            if not turn.done():
                turn.set_exception(error)

    def _look_after(self, seconds: float) -> None:
        """Check all deadlines in a while: a timer per request would cost as much as writing it."""
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(seconds, self._look, loop, seconds)

    def _look(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._alarm, now = None, loop.time()
        for connection in [each for each in self._asked if each.is_due(now, seconds)]:
            connection.time_out()
        if self._asked:
            self._look_after(seconds)
