import asyncio

import pytest

from moorage.api.meta import KubeObject
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import History, Record
from moorage.watch.api_errors import Gone


def record(version: int) -> Record:
    return Record("ADDED", Entry("d/a", {}, version, lambda raw: KubeObject()))


def history(window: int, *versions: int) -> History:
    made = History(window)
    for version in versions:
        made.append(record(version))
    return made


def read(history: History, version: int) -> list[int]:
    position = history.after(version)
    return [history.at(each, version).version for each in range(position, history.end)]


def test_a_reader_gets_everything_after_its_version() -> None:
    assert read(history(9, 3, 5, 8), 5) == [8]
    assert read(history(9, 3, 5, 8), 4) == [5, 8]


def test_a_reader_at_the_last_expired_version_has_missed_nothing() -> None:
    assert read(history(2, 3, 5, 8, 9), 5) == [8, 9]


def test_a_reader_of_an_older_version_is_told_so() -> None:
    with pytest.raises(Gone, match=r"too old resource version: 4 \(5\)"):
        history(2, 3, 5, 8, 9).after(4)


@pytest.mark.parametrize("count", range(1, 20))
def test_exactly_the_window_is_kept_however_many_came_before(count: int) -> None:
    made = history(3, *range(1, count + 1))

    assert read(made, max(0, count - 3)) == list(range(max(0, count - 3) + 1, count + 1))
    if count > 3:
        with pytest.raises(Gone):
            made.after(count - 4)


def test_a_reader_that_the_window_has_passed_is_told_so() -> None:
    made = history(2, 1, 2)
    position = made.after(0)

    made.append(record(3))

    with pytest.raises(Gone):
        made.at(position, 0)


def test_everyone_who_waits_is_woken_in_the_order_of_coming() -> None:
    async def main() -> list[str]:
        made, woken = History(9), list[str]()

        async def wait(name: str) -> None:
            await made.changed()
            woken.append(name)

        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(wait(name))
            await asyncio.sleep(0)
            made.append(record(1))
        return woken

    assert asyncio.run(main()) == ["a", "b", "c"]


def test_who_wants_some_records_alone_sleeps_through_the_others() -> None:
    async def main() -> tuple[bool, int]:
        made = History(2)
        task = asyncio.create_task(made.changed(lambda record: record.version == 4))
        await asyncio.sleep(0)
        for version in (1, 2, 3):
            made.append(record(version))
        await asyncio.sleep(0)
        slept = not task.done()
        made.append(record(4))
        return slept, await task

    assert asyncio.run(main()) == (True, 3)


def test_who_was_cancelled_while_waiting_leaves_nothing_behind() -> None:
    async def main() -> None:
        made = History(9)
        task = asyncio.create_task(made.changed())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        made.append(record(1))
        waiting = asyncio.create_task(made.changed())
        await asyncio.sleep(0)
        made.wake()
        await waiting

    asyncio.run(main())


def test_all_watchers_share_one_event() -> None:
    made = record(4)

    assert made.event is made.event
    assert made.event.resource_version == "4"
