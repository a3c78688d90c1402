import asyncio
import gc
import time

import pytest

from moorage.clock import Clock, SystemClock, VirtualClock, run_virtual


async def _note(clock: Clock, seconds: float, name: str, log: list[tuple[str, float]]) -> None:
    await clock.sleep(seconds)
    log.append((name, clock.now()))


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_virtual_time_stands_still_until_it_is_moved() -> None:
    clock = VirtualClock(start=100.0)

    clock.advance(2.5)

    assert clock.now() == 102.5


def test_sleepers_wake_in_the_order_of_their_times_then_of_their_sleeping() -> None:
    async def main() -> list[str]:
        clock, log = VirtualClock(), list[tuple[str, float]]()
        async with asyncio.TaskGroup() as group:
            for name, seconds in [("late", 3.0), ("first", 1.0), ("second", 1.0)]:
                group.create_task(_note(clock, seconds, name, log))
            await _settle()
            clock.advance(3.0)
        return [name for name, _ in log]

    assert asyncio.run(main()) == ["first", "second", "late"]


def test_advancing_wakes_nobody_who_sleeps_for_longer() -> None:
    async def main() -> bool:
        clock = VirtualClock()
        task = asyncio.create_task(clock.sleep(10.0))
        await _settle()
        clock.advance(9.9)
        await _settle()
        asleep = not task.done()
        clock.advance(0.1)
        await task
        return asleep

    assert asyncio.run(main())


def test_advancing_to_the_next_sleeper_moves_time_to_its_wake_up_and_wakes_its_equals() -> None:
    async def main() -> tuple[bool, float, int, float | None]:
        clock = VirtualClock()
        tasks = [asyncio.create_task(clock.sleep(seconds)) for seconds in (7.0, 4.0, 4.0)]
        await _settle()
        moved = clock.advance_to_next()
        await _settle()
        woken, now, following = sum(task.done() for task in tasks), clock.now(), clock.next_wake()
        clock.advance_to_next()
        await asyncio.gather(*tasks)
        return moved, now, woken, following

    assert asyncio.run(main()) == (True, 4.0, 2, 7.0)


def test_nobody_sleeping_leaves_time_where_it_is() -> None:
    clock = VirtualClock(start=5.0)

    assert not clock.advance_to_next()
    assert clock.now() == 5.0


def test_a_cancelled_sleeper_is_not_waited_for() -> None:
    async def main() -> float | None:
        clock = VirtualClock()
        task = asyncio.create_task(clock.sleep(1.0))
        await _settle()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return clock.next_wake()

    assert asyncio.run(main()) is None


def test_sleeping_for_no_time_yields_and_returns() -> None:
    async def main() -> None:
        await VirtualClock().sleep(0)

    asyncio.run(main())


def test_under_run_virtual_each_sleeper_sees_its_own_time() -> None:
    clock, log = VirtualClock(start=10.0), list[tuple[str, float]]()

    async def main() -> float:
        async with asyncio.TaskGroup() as group:
            group.create_task(_note(clock, 3600.0, "hour", log))
            group.create_task(_note(clock, 60.0, "minute", log))
            group.create_task(_note(clock, 86400.0, "day", log))
        return clock.now()

    assert run_virtual(main(), clock) == 86410.0
    assert log == [("minute", 70.0), ("hour", 3610.0), ("day", 86410.0)]


def test_under_run_virtual_time_does_not_pass_while_a_task_has_something_to_do() -> None:
    clock = VirtualClock()

    async def main() -> float:
        sleeper = asyncio.create_task(clock.sleep(1.0))
        for _ in range(100):
            await asyncio.sleep(0)
        now = clock.now()
        await sleeper
        return now

    assert run_virtual(main(), clock) == 0.0


def test_under_run_virtual_a_deadlock_is_an_error_and_not_a_hang() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="virtual time stands still"):
        run_virtual(main(), VirtualClock())


def test_the_system_clock_moves_forward_through_a_sleep() -> None:
    async def main() -> float:
        clock = SystemClock()
        before = clock.now()
        await clock.sleep(0.001)
        return clock.now() - before

    assert asyncio.run(main()) > 0


def test_under_run_virtual_timers_of_the_event_loop_keep_virtual_time_in_order() -> None:
    clock, log = VirtualClock(start=1_767_225_600.0), list[tuple[str, float]]()

    async def timer(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        log.append((name, clock.now() - 1_767_225_600.0))

    async def main() -> None:
        await asyncio.gather(
            timer(7.0, "timer"), _note(clock, 5.0, "sleeper", []), timer(3600.0, "late")
        )

    run_virtual(main(), clock)
    assert [name for name, _ in log] == ["timer", "late"]
    assert [at for _, at in log] == pytest.approx([7.0, 3600.0])


def test_under_run_virtual_a_thread_is_waited_for_while_time_stands_still() -> None:
    clock = VirtualClock()

    async def main() -> float:
        other = asyncio.create_task(clock.sleep(100.0))
        await asyncio.to_thread(time.sleep, 0.02)
        now = clock.now()
        await other
        return now

    assert run_virtual(main(), clock) == 0.0


@pytest.mark.parametrize("stubborn", [False, True], ids=["who ends", "who does not"])
def test_under_run_virtual_an_interrupt_ends_it_without_a_word(
    stubborn: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Through a group of tasks, which raises it once more; and where a task goes on regardless."""
    clock = VirtualClock()
    forever = []

    async def go_on() -> None:
        while True:
            try:
                await clock.sleep(1.0)
                forever.append(clock.now())
            except asyncio.CancelledError:
                if not stubborn:
                    raise

    async def interrupted() -> None:
        await clock.sleep(5.0)
        raise KeyboardInterrupt

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(go_on())
            group.create_task(interrupted())

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main(), clock)
    gc.collect()

    assert len(forever) <= 5
    assert not caplog.records
