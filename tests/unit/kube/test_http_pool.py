"""Who gets which connection, and how many are opened: connections that the test opens itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage.kube import http_pool
from moorage.kube.fence import LeaseFence
from moorage.kube.http1 import Answer, HttpConnection, HttpError, Target
from moorage.kube.http_pool import OPENED_AT_ONCE, HttpPool
from moorage.kube.sockets import Sockets

HERE, THERE = (Target(host, 443, None, "") for host in ("here", "there"))


class Connection:
    """Answers when it is told to."""

    deadline = float("inf")
    fence: LeaseFence | None = None

    def __init__(self, target: Target, number: int) -> None:
        self.target = target
        self.number = number
        self.used = 0.0
        self.is_open = True
        self._answer: asyncio.Future[Answer] | None = None

    async def ask(self, request: bytes, seconds: float, fence: LeaseFence | None) -> Answer:
        assert self._answer is None, "one request at a time"
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            self._answer = None

    def answer(self) -> None:
        assert self._answer is not None
        self._answer.set_result(Answer(200, str(self.number).encode(), "", ""))

    def is_idle(self, now: float) -> bool:
        return False

    def is_due(self, now: float, next_look: float) -> bool:
        return False

    def close(self) -> None:
        self.is_open = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(HttpError("closed"))


class Opener:
    """Opens connections when it is told to; stands for `http1.connect`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Target, asyncio.Future[HttpConnection]]] = []
        self.made: list[Connection] = []

    async def connect(self, sockets: Sockets, target: Target, make: object) -> HttpConnection:
        opened: asyncio.Future[HttpConnection] = asyncio.get_running_loop().create_future()
        self.asked.append((target, opened))
        return await opened

    @property
    def opening(self) -> int:
        return sum(not opened.done() for _, opened in self.asked)

    def open_one(self) -> Connection:
        """Let the first that is being opened be open."""
        target, opened = next(each for each in self.asked if not each[1].done())
        made: Any = Connection(target, len(self.made))
        self.made.append(made)
        opened.set_result(made)
        return self.made[-1]

    def fail_one(self, error: Exception) -> None:
        next(opened for _, opened in self.asked if not opened.done()).set_exception(error)


Scenario = Callable[[HttpPool, Opener], Awaitable[None]]


def play(monkeypatch: pytest.MonkeyPatch, scenario: Scenario, limit: int = 64) -> None:
    opener = Opener()
    monkeypatch.setattr(http_pool, "connect", opener.connect)

    async def main() -> None:
        pool = HttpPool(limit, Sockets())
        try:
            await scenario(pool, opener)
        finally:
            pool.close()
            await settle()

    asyncio.run(main())


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def opened(opener: Opener) -> None:
    opener.open_one()
    await settle()


async def answered(connection: Connection) -> None:
    connection.answer()
    await settle()


def ask(pool: HttpPool, target: Target = HERE) -> asyncio.Task[Answer]:
    return asyncio.create_task(pool.ask(target, b"", 60.0))


def test_a_burst_takes_turns_on_a_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many wait: those that are there are sooner free than a handshake is over."""

    async def scenario(pool: HttpPool, opener: Opener) -> None:
        asked = [ask(pool) for _ in range(OPENED_AT_ONCE * 10)]
        await settle()
        assert opener.opening == OPENED_AT_ONCE
        for _ in range(OPENED_AT_ONCE):
            await opened(opener)
        assert len(opener.asked) == OPENED_AT_ONCE
        while not all(each.done() for each in asked):
            for connection in opener.made:
                connection.answer()
            await settle()
        assert len(opener.asked) == OPENED_AT_ONCE

    play(monkeypatch, scenario)


def test_no_more_than_a_few_are_being_opened_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "PATIENCE_SECONDS", 0.0)

    async def scenario(pool: HttpPool, opener: Opener) -> None:
        asked = [ask(pool) for _ in range(OPENED_AT_ONCE * 10)]
        await settle()
        assert opener.opening == OPENED_AT_ONCE
        await opened(opener)
        assert opener.opening == OPENED_AT_ONCE
        assert len(opener.asked) == OPENED_AT_ONCE + 1
        for each in asked:
            each.cancel()

    play(monkeypatch, scenario)


def test_nobody_waits_for_long_behind_requests_that_are_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_pool, "PATIENCE_SECONDS", 0.001)

    async def scenario(pool: HttpPool, opener: Opener) -> None:
        stuck = [ask(pool) for _ in range(OPENED_AT_ONCE)]
        await settle()
        for _ in range(OPENED_AT_ONCE):
            await opened(opener)
        late = ask(pool)
        await settle()
        assert opener.opening == 0
        await asyncio.sleep(0.05)
        await opened(opener)
        await answered(opener.made[-1])
        assert late.done()
        for each in stuck:
            each.cancel()

    play(monkeypatch, scenario)


def test_a_request_goes_out_on_whichever_connection_is_ready_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        first, second = ask(pool), ask(pool)
        await settle()
        await opened(opener)
        await answered(opener.made[0])
        assert first.done()
        await answered(opener.made[0])
        assert second.result().body == b"0"
        await opened(opener)
        third = ask(pool)
        await settle()
        await answered(opener.made[1])
        assert third.result().body == b"1"

    play(monkeypatch, scenario)


def test_no_more_are_open_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        asked = [ask(pool) for _ in range(9)]
        await settle()
        for _ in range(3):
            opener.open_one()
            await settle()
        assert opener.opening == 0
        for made in opener.made * 3:
            made.answer()
            await settle()
        assert all(each.done() for each in asked)
        assert len(opener.asked) == 3

    play(monkeypatch, scenario, limit=3)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConnectionRefusedError("refused"), id="a server that refuses"),
        pytest.param(TimeoutError(), id="a server that says nothing"),
        pytest.param(ValueError("no such name"), id="a fault that is not the network's"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_to_all_who_wait(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        asked = [ask(pool) for _ in range(20)]
        await settle()
        opener.fail_one(error)
        await settle()
        assert [each.exception() for each in asked] == [error] * 20
        again = ask(pool)
        await settle()
        await opened(opener)
        await answered(opener.made[0])
        assert again.result().status == 200

    play(monkeypatch, scenario)


def test_a_connection_handed_to_somebody_who_is_cancelled_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        async def ask_and_cancel_the_next() -> None:
            await pool.ask(HERE, b"", 60.0)
            second.cancel()  # it has been given the connection, and has not run since

        first = asyncio.create_task(ask_and_cancel_the_next())
        await settle()
        second = ask(pool)
        await settle()
        await opened(opener)
        await answered(opener.made[0])
        assert first.done()
        assert second.cancelled()
        third = ask(pool)
        await settle()
        await answered(opener.made[0])
        assert third.result().body == b"0"

    play(monkeypatch, scenario, limit=1)


def test_a_broken_connection_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        first, second = ask(pool), ask(pool)
        await settle()
        opener.open_one().close()
        await settle()
        opener.made[0].close()
        await settle()
        await opened(opener)
        await answered(opener.made[1])
        done = [each for each in (first, second) if each.done() and each.exception() is None]
        assert len(done) == 1

    play(monkeypatch, scenario, limit=1)


def test_a_connection_that_leads_elsewhere_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        first, second = ask(pool, HERE), ask(pool, THERE)
        await settle()
        await opened(opener)
        await answered(opener.made[0])
        assert first.done()
        assert not opener.made[0].is_open
        await opened(opener)
        assert opener.made[1].target == THERE
        await answered(opener.made[1])
        assert second.result().body == b"1"

    play(monkeypatch, scenario, limit=1)


def test_a_free_connection_is_used_again_only_for_where_it_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        first = ask(pool, HERE)
        await settle()
        await opened(opener)
        await answered(opener.made[0])
        again = ask(pool, HERE)
        await settle()
        await answered(opener.made[0])
        elsewhere = ask(pool, THERE)
        await settle()
        assert not opener.made[0].is_open
        await opened(opener)
        await answered(opener.made[1])

        assert [each.result().body for each in (first, again, elsewhere)] == [b"0", b"0", b"1"]
        assert opener.made[1].target == THERE

    play(monkeypatch, scenario)


def test_connections_that_were_opened_ahead_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        pool.warm_up(HERE)
        await settle()
        assert opener.opening == OPENED_AT_ONCE
        for _ in range(OPENED_AT_ONCE):
            await opened(opener)
        asked = [ask(pool) for _ in range(OPENED_AT_ONCE)]
        await settle()
        for made in opener.made:
            made.answer()
        await settle()
        assert all(each.done() for each in asked)
        assert len(opener.asked) == OPENED_AT_ONCE

    play(monkeypatch, scenario)


def test_whoever_waits_when_the_pool_is_closed_hears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pool: HttpPool, opener: Opener) -> None:
        asked = [ask(pool) for _ in range(6)]
        await settle()
        pool.close()
        await settle()
        assert all(isinstance(each.exception(), HttpError) for each in asked)
        with pytest.raises(HttpError):
            await pool.ask(HERE, b"", 1.0)

    play(monkeypatch, scenario)
