"""A decision waits for an answer, and the event loop does not."""

import asyncio
import threading

import pytest

from moorage.extender.async_bridge import BlockingBridge, DecisionThread, LoopClosed


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def trouble() -> int:
    raise ValueError("no")


def test_a_decision_is_given_what_it_asks_for() -> None:
    turns = DecisionThread()

    def decide() -> int:
        return turns.ask(lambda: answer(3)) + turns.ask(lambda: answer(4))

    assert asyncio.run(turns.run(decide)) == 7
    turns.close()


def test_a_decision_that_asks_nothing_is_a_call() -> None:
    turns = DecisionThread()

    assert asyncio.run(turns.run(lambda: 5)) == 5
    turns.close()


def test_errors_go_both_ways() -> None:
    turns = DecisionThread()

    def decide() -> str:
        try:
            turns.ask(trouble)
        except ValueError as error:
            raise LookupError(f"told {error}") from None
        return "not told"

    with pytest.raises(LookupError, match="told no"):
        asyncio.run(turns.run(decide))
    assert asyncio.run(turns.run(lambda: 1)) == 1
    turns.close()


@pytest.mark.parametrize("debug", [False, True])
def test_the_loop_goes_on_while_a_decision_waits_and_stands_still_while_it_computes(
    debug: bool,
) -> None:
    turns, seen = DecisionThread(), list[str]()

    async def main() -> None:
        asked, allowed = asyncio.Event(), asyncio.Event()

        async def ask() -> None:
            asked.set()
            await allowed.wait()

        async def other() -> None:
            await asked.wait()
            seen.append("the loop goes on")
            allowed.set()

        def decide() -> None:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop)  # wakes a loop that runs
            seen.append("computes")
            turns.ask(ask)
            seen.append("computes again")
            started.append(loop.create_task(answer(1)))

        loop, started = asyncio.get_running_loop(), list[asyncio.Task[int]]()
        task = asyncio.ensure_future(other())
        await turns.run(decide)
        seen.append("done")
        assert await started[0] == 1
        await task

    asyncio.run(main(), debug=debug)

    assert seen == ["computes", "the loop goes on", "computes again", "done"]
    turns.close()


def test_a_decision_that_nobody_waits_for_any_more_is_abandoned() -> None:
    turns, ended = DecisionThread(), list[BaseException]()

    async def never() -> None:
        await asyncio.Event().wait()

    def decide() -> None:
        try:
            turns.ask(never)
        except BaseException as error:
            ended.append(error)
            raise

    async def main() -> None:
        running = asyncio.ensure_future(turns.run(decide))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())

    assert [type(error) for error in ended] == [LoopClosed]
    assert asyncio.run(turns.run(lambda: 2)) == 2
    turns.close()


def test_the_thread_ends_with_the_turns() -> None:
    before, turns = set(threading.enumerate()), DecisionThread()
    asyncio.run(turns.run(lambda: None))
    begun = set(threading.enumerate()) - before
    assert "decisions" in {thread.name for thread in begun}

    turns.close()

    assert "decisions" not in {thread.name for thread in set(threading.enumerate()) - before}


def test_a_simulation_waits_for_each_answer() -> None:
    asking = BlockingBridge()

    assert asking.ask(lambda: answer(3)) == 3
    with pytest.raises(ValueError, match="no"):
        asking.ask(trouble)
    asking.close()
