"""Tasks of the scheduler: begun while it runs, and not begun while it ends."""

import asyncio

import pytest

from moorage.scheduler.tasks import Tasks


def test_what_a_cancelled_task_begins_is_left_and_breaks_nothing() -> None:
    done: list[str] = []

    async def last_words() -> None:
        done.append("said")

    async def binding(tasks: Tasks) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            tasks.start(last_words(), "status")

    async def schedule() -> None:
        tasks = Tasks()
        async with asyncio.TaskGroup() as group:
            tasks.open(group)
            tasks.start(binding(tasks), "bind")

    async def main() -> None:
        running = asyncio.ensure_future(schedule())
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())

    assert done == []


def test_nothing_is_begun_before_the_scheduler_runs() -> None:
    async def work() -> None:
        raise AssertionError

    with pytest.raises(RuntimeError, match="not running"):
        Tasks().start(work(), "early")
