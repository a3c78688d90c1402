"""Tasks that the loop does not wait for, the count of bindings, tasks that end together."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Start = Callable[[Coroutine[Any, Any, None], str], None]
"""Starts a named task; the loop does not wait for it."""
Wake = Callable[[], None]
"""Ends the loop's sleep."""
Later = Callable[[Callable[[], None]], None]
"""Does something at once or, while an attempt is under way, right after it."""


class Tasks:
    """Starts tasks in the scheduler's task group."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        """Start tasks in this group from now on."""
        self._group = group

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start a task that the loop does not wait for; does nothing while the scheduler ends."""
        if self._group is None:
            work.close()
            raise RuntimeError("the scheduler is not running")
        try:
            self._group.create_task(work, name=name)
        except RuntimeError:
            work.close()  # the group is ending; a task that is being cancelled may still get here


class Bindings:
    """Counts the pods being bound; wakes the loop when a binding ends."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self.count = 0

    def begin(self, pods: int = 1) -> None:
        self.count += pods

    def end(self, pods: int = 1) -> None:
        self.count -= pods
        self._wake()


async def until_first(*work: Coroutine[Any, Any, Any]) -> None:
    """Run all of these until one ends; the others are cancelled, and the first error is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = await cancelled(*tasks)
    for error in ended:
        if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
            raise error


async def cancelled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Cancel tasks and wait for them; the result or exception of each."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)
