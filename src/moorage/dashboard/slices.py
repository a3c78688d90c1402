"""Work in slices: whoever computes for a viewer lets the scheduler go on every few milliseconds."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
SLICE_SECONDS: Final = 0.002

Later = Callable[[Callable[[], None]], None]
"""Runs work now, or as soon as the attempt under way is over."""


def at_once(work: Callable[[], None]) -> None:
    """Run work now: there is no attempt to wait for."""
    work()


async def between_attempts(later: Later, work: Callable[[], T]) -> T:
    """Do one piece of work while no attempt is under way, and let others go on after it."""
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            if not done.done():
                done.set_exception(error)
        else:
            if not done.done():
                done.set_result(result)

    later(run)
    result = await done
    await asyncio.sleep(0)
    return result


async def sliced(later: Later, steps: Iterable[T]) -> list[T]:
    """Everything that an iterator yields, taken in slices between attempts."""
    found: list[T] = []
    remaining = iter(steps)
    while True:
        if await between_attempts(later, lambda: _take(remaining, found)):
            return found


def _take(remaining: Iterator[T], found: list[T]) -> bool:
    """Take from an iterator for the length of a slice; whether it is exhausted."""
    until = time.perf_counter() + SLICE_SECONDS
    for each in remaining:
        found.append(each)
        if time.perf_counter() > until:
            return False
    return True
