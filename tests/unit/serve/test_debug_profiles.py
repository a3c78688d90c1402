"""A look inside the running process."""

import asyncio

import pytest

from moorage.serve import debug_profiles


async def a_place_to_wait(something: asyncio.Event) -> None:
    await something.wait()


def test_stacks_show_every_thread_and_every_task_by_name() -> None:
    async def main() -> str:
        something = asyncio.Event()
        waiting = asyncio.create_task(a_place_to_wait(something), name="bind/default/web")
        await asyncio.sleep(0)
        shown = debug_profiles.dump_stacks()
        something.set()
        await waiting
        return shown

    shown = asyncio.run(main())

    assert "thread MainThread\n" in shown
    assert "task bind/default/web\n" in shown
    assert "in a_place_to_wait" in shown


def test_a_profile_shows_where_the_time_goes() -> None:
    async def busy() -> None:
        while True:
            sum(range(10_000))
            await asyncio.sleep(0)

    async def main() -> str:
        working = asyncio.create_task(busy())
        shown = await debug_profiles.cpu_profile(0.1)
        working.cancel()
        return shown

    lines = asyncio.run(main()).splitlines()

    assert lines
    for line in lines:
        stack, count = line.rsplit(" ", 1)
        assert ";" in stack
        assert int(count) > 0
    assert any("busy" in line for line in lines)


def test_a_profile_of_no_time_is_empty() -> None:
    assert asyncio.run(debug_profiles.cpu_profile(-5)) == ""


def test_one_profile_at_a_time() -> None:
    async def main() -> None:
        first = asyncio.create_task(debug_profiles.cpu_profile(60))
        await asyncio.sleep(0)
        try:
            await debug_profiles.cpu_profile(0)
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    with pytest.raises(debug_profiles.ProfileRunning, match="ask again when it is done"):
        asyncio.run(main())
    assert asyncio.run(debug_profiles.cpu_profile(0)) == ""
