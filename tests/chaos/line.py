"""The line between a replica and the API server: what is lost on it, held up, refused, torn."""

import asyncio
import random
import time
from collections import Counter
from typing import NamedTuple

import aiohttp
from aiohttp import web

from tests.integration.proxying import Forward, hang_up, is_binding, status

LOSES = 0.6
"""The share of writes whose answers are lost while answers are lost."""
STATUSES = {"401": "Unauthorized", "429": "TooManyRequests", "503": "ServiceUnavailable"}
GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}\n'
)


class Write(NamedTuple):
    """One write that a replica has asked for, and how it was answered."""

    at: float
    replica: str
    what: str
    outcome: str


class Line:
    """Asked about every request of one replica; `begin` starts a fault."""

    def __init__(self, replica: str, rng: random.Random, writes: list[Write]) -> None:
        self.replica = replica
        self.renewed_at = 0.0
        self.done: Counter[str] = Counter()
        self._rng = rng
        self._writes = writes
        self._until: dict[str, float] = {}
        self._open: set[asyncio.Transport] = set()

    def begin(self, kind: str, seconds: float) -> None:
        """Do harm of a kind for so long."""
        if kind in ("tear", "deaf"):
            self._tear()
        self._until[kind] = time.monotonic() + seconds

    def end(self) -> None:
        """Do no more harm."""
        self._until.clear()

    async def __call__(self, request: web.Request, forward: Forward) -> web.StreamResponse | None:
        self._note_connection(request)
        if self._is("stall"):
            await asyncio.sleep(self._until["stall"] - time.monotonic())
        answer, outcome = self._refusal(request), "refused"
        if answer is None:
            answer, outcome = await self._pass(request, forward)
        if request.method != "GET":
            self._note(request, outcome, answer.status)
        return answer

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        for kind, reason in STATUSES.items():
            if self._is(kind):
                self.done[kind] += 1
                return status(int(kind), reason, **{"Retry-After": "1"})
        is_list = request.method == "GET" and request.path.endswith("/pods")
        if self._is("deaf") and is_list:
            self.done["deaf"] += 1
            if "watch" in request.query:
                return web.Response(body=GONE, content_type="application/json")
            return status(503, "ServiceUnavailable")
        if self._is("lose-requests") and self._rng.random() < LOSES:
            self.done["lost request"] += 1
            return hang_up(request)
        return None

    async def _pass(self, request: web.Request, forward: Forward) -> tuple[web.StreamResponse, str]:
        loses = self._is("lose-replies") and request.method != "GET"
        try:
            answer = await forward()
        except (aiohttp.ClientError, OSError):
            return hang_up(request), "lost: no API server"
        if loses and self._rng.random() < LOSES:
            self.done["lost bind reply" if is_binding(request) else "lost reply"] += 1
            return hang_up(request), f"{answer.status}, reply lost"
        return answer, str(answer.status)

    def _note(self, request: web.Request, outcome: str, code: int) -> None:
        now = time.monotonic()
        if request.path.endswith("/events"):
            return
        if "/leases" in request.path:
            self.renewed_at = now if outcome.startswith("20") else self.renewed_at
            return
        outcome = f"{outcome} with {code}" if outcome == "refused" else outcome
        what = f"{request.method} {request.path.partition('/namespaces/')[2] or request.path}"
        self._writes.append(Write(now, self.replica, what, outcome))

    def _note_connection(self, request: web.Request) -> None:
        transport = request.transport
        if isinstance(transport, asyncio.Transport):
            self._open = {each for each in self._open if not each.is_closing()} | {transport}

    def _tear(self) -> None:
        self.done["torn"] += len(self._open)
        for transport in self._open:
            transport.abort()

    def _is(self, kind: str) -> bool:
        return self._until.get(kind, 0.0) > time.monotonic()
