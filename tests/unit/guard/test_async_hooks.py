"""Hooks that are awaited: what becomes of one whose task is cancelled."""

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any

from moorage import Cycle, Node, Pod, PreBind, Rejection
from moorage.testing import node, pod
from tests.unit.guard.guarded_cluster import cluster

begun: list[Coroutine[Any, Any, Any]] = []


class Prepares(PreBind, frozen=True):
    def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Any:
        async def prepare() -> Rejection | None:
            return None

        begun.append(prepare())
        return begun[-1]


def test_a_hook_that_is_cancelled_before_it_begins_is_closed() -> None:
    """Or Python warns that it was never awaited, once it is collected."""
    made = cluster(Prepares())
    (plugin,) = (plugin for name, plugin in made.profile.pre_bind if name == "Prepares")

    async def main() -> None:
        cycle = made.cycle(pod("web"))
        binding = asyncio.ensure_future(plugin.pre_bind(cycle, cycle.pod, node("a").build()))
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(others - {binding}) == 2, "the hook's task and the alarm's"
        for task in others:
            task.cancel()
        await asyncio.wait(others)
        await asyncio.sleep(0)

    asyncio.run(main())

    assert [inspect.getcoroutinestate(each) for each in begun] == [inspect.CORO_CLOSED]
