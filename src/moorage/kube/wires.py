"""A pool of connections for short requests, and one alarm for all that are under way."""

import asyncio
from collections import deque
from typing import Final

from moorage.kube.answers import Answer
from moorage.kube.fence import LeaseFence
from moorage.kube.sockets import Sockets, cut
from moorage.kube.wire import Target, Wire, WireError, wire_on

CONNECT_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
LOOKS: Final = 10
"""How often it is looked at what is overdue, in the time that a request may take."""
LOOK_SECONDS: Final = 0.5
"""No more time passes between two looks."""


class Wires:
    """A pool: at most `limit` requests at once, the rest wait their turn."""

    def __init__(self, limit: int, sockets: Sockets) -> None:
        self._sockets = sockets
        self._free: deque[Wire] = deque()
        self._asked: set[Wire] = set()
        self._turns = asyncio.Semaphore(limit)
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False

    async def ask(
        self, target: Target, request: bytes, seconds: float, fence: LeaseFence | None = None
    ) -> Answer:
        """One request and its answer, within so many seconds of its turn, or a tenth more.

        One with a fence is sent while it is open, and torn before the lease ends.
        """
        async with self._turns:
            wire = self._open_wire(target) or await _connect(target, self._sockets)
            self._asked.add(wire)
            if self._alarm is None:
                self._look_after(min(LOOK_SECONDS, seconds / LOOKS))
            try:
                answer = await wire.ask(request, seconds, fence)
            except BaseException:
                wire.close()
                raise
            finally:
                self._asked.discard(wire)
            self._keep(wire)
            return answer

    def tear_fenced(self) -> None:
        """The fence is closed: end what is under way behind it."""
        for wire in [wire for wire in self._asked if wire.fence is not None]:
            wire.tear(WireError("the lease ended"))

    def close(self) -> None:
        """Close every connection, also those that are free later."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for wire in (*self._free, *self._asked):
            wire.close()
        self._free.clear()

    def _open_wire(self, target: Target) -> Wire | None:
        """The connection used last that leads there; others wither."""
        now = asyncio.get_running_loop().time()
        while self._free:
            wire = self._free.pop()
            if wire.is_open and wire.target == target and now - wire.used < IDLE_SECONDS:
                return wire
            wire.close()
        return None

    def _keep(self, wire: Wire) -> None:
        if self._closed or not wire.is_open:
            wire.close()
        else:
            self._free.append(wire)

    def _look_after(self, seconds: float) -> None:
        """A timer for each request would cost as much as writing it."""
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(seconds, self._look, loop, seconds)

    def _look(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._alarm, now = None, loop.time()
        for wire in [wire for wire in self._asked if wire.is_due(now, seconds)]:
            wire.time_out()
        if self._asked:
            self._look_after(seconds)


async def _connect(target: Target, sockets: Sockets) -> Wire:
    async with asyncio.timeout(CONNECT_SECONDS):
        connected = await sockets.connect(target.host, target.port)
        try:
            return await wire_on(connected, target)
        except BaseException:
            cut(connected)
            raise
