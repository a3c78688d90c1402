"""Work in slices: a computation for a viewer yields to the scheduler every few milliseconds."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
SLICE_SECONDS: Final = 0.002

Later = Callable[[Callable[[], None]], None]
"""Runs work at once, or as soon as the current attempt is over."""


def at_once(work: Callable[[], None]) -> None:
    """Run work at once: no attempt can be in progress."""
    work()


async def between_attempts(later: Later, work: Callable[[], T]) -> T:
    """Do one piece of work while no attempt is in progress, then yield to other tasks."""
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
    """All items of an iterator, taken in slices between attempts."""
    found: list[T] = []
    remaining = iter(steps)
    while True:
        if await between_attempts(later, lambda: _take(remaining, found)):
            return found


def _take(remaining: Iterator[T], found: list[T]) -> bool:
    """Take items for the length of a slice; returns whether the iterator is exhausted."""
    until = time.perf_counter() + SLICE_SECONDS
    for each in remaining:
        found.append(each)
        if time.perf_counter() > until:
            return False
    return True
