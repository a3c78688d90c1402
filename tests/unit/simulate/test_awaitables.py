"""What a pre_bind may await in virtual time, and that it takes no real time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from moorage import Cycle, Node, Pod
from moorage.framework.points import PreBind
from moorage.framework.verdicts import Rejection
from moorage.testing import node, pod
from tests.unit.simulate.embedded_runs import places, run

LONG: Final = 300
"""Seconds: in real time, more than a test is given."""


async def _sleep() -> None:
    await asyncio.sleep(LONG)


async def _gather() -> None:
    await asyncio.gather(asyncio.sleep(3), asyncio.sleep(LONG))


async def _wait_for() -> None:
    try:
        await asyncio.wait_for(asyncio.Event().wait(), LONG)
    except TimeoutError:
        return
    raise AssertionError("nobody sets it")


async def _timeout() -> None:
    try:
        async with asyncio.timeout(LONG):
            await asyncio.Event().wait()
    except TimeoutError:
        return
    raise AssertionError("nobody sets it")


async def _event() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(LONG, event.set)
    await event.wait()


async def _queue() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()

    async def put() -> None:
        await asyncio.sleep(LONG)
        await queue.put(1)

    async with asyncio.TaskGroup() as group:
        group.create_task(put())
        await queue.get()


async def _lock_and_semaphore() -> None:
    async with asyncio.Lock(), asyncio.Semaphore(1):
        await asyncio.sleep(LONG)


async def _thread() -> None:
    await asyncio.to_thread(time.sleep, 0.05)
    await asyncio.sleep(LONG)


_MEANT: list[Callable[[], Awaitable[None]]] = []


class Awaits(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        await _MEANT[-1]()
        return None


@pytest.mark.parametrize(
    "what", [_sleep, _gather, _wait_for, _timeout, _event, _queue, _lock_and_semaphore, _thread]
)
def test_pre_bind_may_await(what: Callable[[], Awaitable[None]]) -> None:
    _MEANT.append(what)

    ended = run(node("a"), pod("one"), plugin=Awaits)

    assert places(ended) == {"one": "a"}
    assert not ended.story.errors
    bound = ended.cluster.clock.now()
    assert bound - 1_767_225_600.0 >= LONG
