"""What a scheduler believes is freed without a collector: leaving it out of collections is safe."""

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from moorage import garbage
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app.run_process import RunProcess
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock, run_virtual
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.testing import node, pod
from moorage.watch.api_resources import NODES, PODS
from tests.unit.resident_memory import resident_bytes
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

BELIEVED = (Node, Pod, PodInfo, QueuedPod, Cycle)


@pytest.fixture
def garbage_found() -> Iterator[list[object]]:
    """What only the collector could free, once it was asked to look."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def test_what_is_believed_is_freed_without_a_collector(garbage_found: list[object]) -> None:
    """Pods are bound, change and leave, and so do nodes; references alone tell when they are done.

    So nothing is lost by leaving out of collections what was there when the lists were read.
    """
    earlier = {id(obj) for obj in gc.get_objects() if isinstance(obj, BELIEVED)}

    async def story(world: ChangingWorld) -> None:
        for _ in range(3):
            world.apply(*(pod(f"web{i}") for i in range(5)), node("second"))
            await world.clock.sleep(5)
            world.apply(node("second").labelled(zone="z"), pod("web0").labelled(app="web"))
            await world.clock.sleep(5)
            for i in range(5):
                await world.cluster.delete(PODS, "default", f"web{i}", grace_period_seconds=0)
            await world.cluster.delete(NODES, "", "second")
            await world.clock.sleep(5)
        gc.collect()

    ChangingWorld(node("first"), config=configuration(profile())).run(story)

    found = [obj for obj in garbage_found if isinstance(obj, BELIEVED) and id(obj) not in earlier]
    assert Counter(type(obj).__name__ for obj in found) == {}


@pytest.fixture
def own_thresholds() -> Iterator[None]:
    """The collector as Python begins, whoever has left it how before."""
    before = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.freeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("own_thresholds")
def test_being_calm_leaves_out_what_is_there_and_collects_what_comes() -> None:
    garbage.freeze()
    ring: list[object] = []
    ring.append(ring)
    del ring

    assert gc.get_freeze_count() > 1000
    assert gc.get_threshold()[0] > 700
    assert gc.collect() >= 1


@pytest.mark.usefixtures("own_thresholds")
def test_collecting_rarely_for_a_while_looks_through_nothing() -> None:
    whole = list[int]()

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            whole.append(info["collected"])

    gc.callbacks.append(collected)
    try:
        gc.collect()
        assert len(whole) == 1
        gc.freeze()
        before = gc.get_freeze_count()
        with garbage.collected_rarely():
            assert gc.get_threshold()[0] > 700
            made: list[object] = [[] for _ in range(20_000)]
    finally:
        gc.callbacks.remove(collected)

    assert len(made) == 20_000
    assert len(whole) == 1
    assert before > 1000
    assert gc.get_freeze_count() == pytest.approx(before, rel=0.01)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.usefixtures("own_thresholds")
def test_what_is_imported_is_left_out_of_collections() -> None:
    before = gc.get_freeze_count()
    with garbage.importing():
        assert not gc.isenabled()
        made: list[object] = [[] for _ in range(2000)]

    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)


@pytest.mark.usefixtures("own_thresholds")
def test_who_has_switched_collections_off_keeps_them_off() -> None:
    gc.disable()
    try:
        with garbage.importing():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_left_behind_is_not_taken_apart() -> None:
    held = ChangingWorld.__new__(ChangingWorld)
    gone = weakref.ref(held)

    garbage.leave_behind(held)
    gc.unfreeze()
    del held

    assert gone() is not None
    gc.freeze()


def test_what_was_freed_between_what_stays_is_given_back() -> None:
    made = [bytes(5000) for _ in range(20_000)]
    stays, made = made[::100], []
    before = resident_bytes()

    assert garbage.give_back()
    assert len(stays) == 200
    assert before - resident_bytes() > 50_000_000


def test_a_scheduler_gives_memory_back_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, given = VirtualClock(1000.0), list[float]()

    def give_back() -> bool:
        given.append(clock.now())
        return True

    async def listed() -> None:
        await clock.sleep(5.0)

    async def main() -> None:
        process = SimpleNamespace(listed=listed, clock=clock)
        caring = asyncio.ensure_future(RunProcess._care_for_memory(cast("RunProcess", process)))
        await clock.sleep(70.0)
        caring.cancel()

    monkeypatch.setattr(garbage, "freeze", lambda: None)
    monkeypatch.setattr(garbage, "give_back", give_back)
    run_virtual(main(), clock)

    assert given == [1005.0, 1035.0, 1065.0]
