"""Server-sent events: what changed since the last event of a viewer, a few times a second.

A viewer is a few numbers, which tell what it has been sent. No events are queued for it. A slow
reader gets fewer events, and if it misses too much, it is told to fetch everything again. An event
that several viewers need is encoded once.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from moorage.dashboard.viewers import TooManyViewers, Viewers
from moorage.observe.logs import say
from moorage.observe.repeated_failures import RepeatedFailures
from moorage.serve.gate import refusal

KEEP_ALIVE_SECONDS: Final = 15.0
STUCK_SECONDS: Final = 30.0
"""A viewer that reads nothing for this long is disconnected; it may reconnect."""
BUFFER_BYTES: Final = 64 << 10
HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
_ENCODE: Final = msgspec.json.Encoder().encode
_FRAME: Final = b"event: %b\ndata: %b\n\n"


class Channel(Protocol):
    """One kind of event."""

    @property
    def name(self) -> str: ...

    async def catch_up(self) -> None:
        """Read what has changed; awaited before each beat while anybody follows the channel."""

    def begin(self) -> Any:
        """The state of a viewer that joins now."""

    def since(self, seen: Any) -> tuple[Any | None, Any]:
        """The changes since a viewer's state (None if there are none), and its new state."""


class EventStream:
    """Sends changes to viewers."""

    def __init__(self, channels: Iterable[Channel]) -> None:
        self._channels = {each.name: each for each in channels}
        self.viewers = Viewers(self._catch_up)
        self._failures = RepeatedFailures(time.monotonic)
        self._followed: Counter[str] = Counter()
        self._frames: dict[tuple[str, Any], tuple[bytes, Any]] = {}
        self._beat = -1

    async def _catch_up(self) -> None:
        """Bring every followed channel up to date, once for all viewers."""
        for name, channel in self._channels.items():
            if self._followed[name]:
                try:
                    await channel.catch_up()
                except Exception as error:  # viewers of the other channels go on looking
                    if self._failures.due(name) is not None:
                        what = f"{type(error).__name__}: {error}"
                        say(logging.ERROR, "A view of the dashboard failed", view=name, err=what)
                await asyncio.sleep(0)

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Stream until the viewer disconnects or stops reading."""
        names = [each for each in request.query.get("views", "").split(",") if each]
        unknown = [each for each in names if each not in self._channels]
        if unknown:
            return refusal(400, f"views={unknown[0]}: one of {', '.join(self._channels)}\n")
        try:
            with self.viewers.one_more():
                return await self._stream(request, names or list(self._channels))
        except TooManyViewers as error:
            answer = refusal(503, f"{error}\n")
            answer.headers["Retry-After"] = "10"
            return answer

    async def _stream(self, request: web.Request, names: list[str]) -> web.StreamResponse:
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        if request.transport is not None:
            request.transport.set_write_buffer_limits(high=BUFFER_BYTES)
        seen = {name: self._channels[name].begin() for name in names}
        self._followed.update(seen.keys())
        last, text = time.monotonic(), b"retry: 2000\n\n"
        try:
            while not self.viewers.closed:
                if text:
                    last = time.monotonic()
                    async with asyncio.timeout(STUCK_SECONDS):
                        await response.write(text)
                await self.viewers.beat()
                text = await self._lacking(seen)
                if not text and time.monotonic() - last > KEEP_ALIVE_SECONDS:
                    text = b": keep-alive\n\n"
        except ConnectionError:
            pass  # the viewer has disconnected
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._followed.subtract(seen.keys())
        return response

    async def _lacking(self, seen: dict[str, Any]) -> bytes:
        """All events that a viewer needs; other tasks run between two channels."""
        frames = []
        for name, before in seen.items():
            frame, seen[name] = self._frame(name, before)
            if frame:
                frames.append(frame)
                await asyncio.sleep(0)
        return b"".join(frames)

    def _frame(self, name: str, before: Any) -> tuple[bytes, Any]:
        """The encoded event for a state; cached for one beat, for viewers with equal states."""
        if self._beat != self.viewers.beats:
            self._beat = self.viewers.beats
            self._frames.clear()
        found = self._frames.get((name, before))
        if found is None:
            told, after = self._channels[name].since(before)
            frame = b"" if told is None else _FRAME % (name.encode(), _ENCODE(told))
            self.viewers.snapshots += told is not None and "snapshot" in told
            found = self._frames[name, before] = frame, after
        return found
