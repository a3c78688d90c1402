"""Outside of deciding: order, gates, reservations and bindings of plugins that fail."""

import asyncio
import time
from typing import Any

import numpy as np
import pytest

from moorage import (
    SKIP,
    Bind,
    Cycle,
    Filter,
    Node,
    Permit,
    Pod,
    PostBind,
    PreBind,
    PreEnqueue,
    QueuedPod,
    QueueSort,
    Rejection,
    Reserve,
    Skip,
    Wait,
    unschedulable,
)
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import PluginGuard, WhenOpen
from moorage.framework.plugin import Plugin
from moorage.testing import Scheduled, node, pod, schedule

SOON = PluginGuard(deadline=Duration.parse("30ms"), failure_threshold=0)


def run(*plugins: Plugin, guard: PluginGuard = SOON, pods: int = 3) -> Scheduled:
    """Pods p0 (the good one), p1, ...; plugins misbehave about pods with a higher number."""
    made = [pod(f"p{i}").labelled(number=str(i)) for i in range(pods)]
    return schedule(node("a"), *made, plugins=plugins, guard=guard, seconds=30)


def is_good(pod: Pod) -> bool:
    return pod.name == "p0"


class RaisesForAKey(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> int:
        if not is_good(queued.info.pod):
            raise RuntimeError("which?")
        return 0


class MixesKeys(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> Any:
        return 0 if is_good(queued.info.pod) else "zero"


class HangsForAKey(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> int:
        if not is_good(queued.info.pod):
            time.sleep(3600)
        return 0


def test_a_queue_has_an_order_whatever_its_keys_are() -> None:
    for plugin in (RaisesForAKey(), MixesKeys(), HangsForAKey()):
        assert set(run(plugin).nodes.values()) == {"a"}, plugin


class GivesArraysForKeys(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> Any:
        return np.array([queued.timestamp, 0.0])


def test_keys_that_cannot_be_compared_leave_pods_in_the_order_they_came() -> None:
    """They ended the scheduler."""
    assert set(run(GivesArraysForKeys()).nodes.values()) == {"a"}


class RaisesAtTheGate(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        if not is_good(pod):
            raise RuntimeError("who goes there?")
        return None


def test_a_gate_that_raises_keeps_its_pods_out_and_no_others() -> None:
    assert run(RaisesAtTheGate()).nodes == {"p0": "a", "p1": "", "p2": ""}


def test_a_gate_that_is_switched_off_may_let_pods_in() -> None:
    guard = PluginGuard(failure_threshold=2, when_open=WhenOpen.IGNORE)

    assert run(RaisesAtTheGate(), guard=guard, pods=5).nodes["p4"] == "a"


def block(seconds: float) -> None:
    time.sleep(seconds)


class BlocksTheLoop(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        await asyncio.sleep(0)
        if not is_good(pod):
            block(3600)
        return None


def test_a_binding_that_blocks_between_two_waits_is_interrupted() -> None:
    ended = run(BlocksTheLoop())

    assert ended.nodes == {"p0": "a", "p1": "", "p2": ""}
    assert (
        "running PreBind plugin 'BlocksTheLoop': took longer than its deadline"
        in (ended.said("p1")[0])
    )


class WaitsForEver(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if not is_good(pod):
            await asyncio.Event().wait()
        return None


def test_a_binding_that_waits_too_long_is_given_up() -> None:
    guard = PluginGuard(bind_deadline=Duration.parse("5s"), failure_threshold=0)

    ended = run(WaitsForEver(), guard=guard)

    assert ended.nodes["p1"] == ""
    assert "took longer than its bindDeadline of 5s" in ended.said("p1")[0]


class AwaitsWhatWasCancelled(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if not is_good(pod) and "asked" not in cycle.shared:
            cycle.shared["asked"] = True
            asking = asyncio.ensure_future(asyncio.sleep(1))
            asking.cancel()
            await asking
        return None


@pytest.mark.parametrize("limit", ["0s", "5s"])
def test_a_binding_that_awaits_what_was_cancelled_is_tried_again(limit: str) -> None:
    guard = PluginGuard(bind_deadline=Duration.parse(limit), failure_threshold=0)

    ended = run(AwaitsWhatWasCancelled(), guard=guard, pods=2)

    assert ended.nodes == {"p0": "a", "p1": "a"}
    assert ended.said("p1")[0].startswith(
        "running PreBind plugin 'AwaitsWhatWasCancelled': CancelledError (in pre_bind, line "
    )


class CancelsItself(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        task = asyncio.current_task()
        if task is not None and "asked" not in cycle.shared:
            cycle.shared["asked"] = True
            task.cancel()
            await asyncio.sleep(0)
        return None


def test_a_binding_that_cancels_itself_is_tried_again() -> None:
    """The pod was forgotten, without a word."""
    ended = run(CancelsItself(), pods=1)

    assert ended.nodes == {"p0": "a"}
    assert "PreBind plugin 'CancelsItself': CancelledError" in ended.said("p0")[0]


class Panics(BaseException):
    """As extensions written in Rust raise."""


def raises_at(point: type[Plugin], hook: str, kind: type[BaseException]) -> Plugin:
    def raise_it(self: Plugin, *args: Any) -> None:
        if not is_good(next(each for each in args if isinstance(each, Pod))):
            raise kind("out of coffee")

    async def raise_it_later(self: Plugin, *args: Any) -> None:
        await asyncio.sleep(0)
        raise_it(self, *args)

    body = {hook: raise_it_later if hook in ("pre_bind", "bind") else raise_it}
    return type("Raises", (point,), body, frozen=True)()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, Panics])
@pytest.mark.parametrize(
    ("point", "hook"),
    [
        (PreEnqueue, "pre_enqueue"),
        (Filter, "filter"),
        (Reserve, "reserve"),
        (Permit, "permit"),
        (PreBind, "pre_bind"),
    ],
)
def test_what_is_no_exception_is_no_other_pods_fault_either(
    point: type[Plugin], hook: str, kind: type[BaseException]
) -> None:
    pods = pod("p2"), pod("p1"), pod("p0")

    ended = schedule(
        node("a"), *pods, plugins=[raises_at(point, hook, kind)], guard=SOON, seconds=30
    )

    assert ended.nodes == {"p0": "a", "p1": "", "p2": ""}
    if hook != "pre_enqueue":
        said = ended.said("p1")[0]
        assert f"{kind.__name__}: out of coffee" in said
        assert "raise an ordinary exception" in said


class TakesItsTime(PreBind, frozen=True):
    """Longer in all than a deadline, but never without letting others run."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        for _ in range(8):
            block(0.1)
            await asyncio.sleep(0)
        return None


def test_a_binding_may_take_longer_than_a_deadline_if_it_lets_others_run() -> None:
    guard = PluginGuard(deadline=Duration.parse("600ms"))

    assert run(TakesItsTime(), guard=guard, pods=1).nodes == {"p0": "a"}


class NoCoroutine(PreBind, frozen=True):
    def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Any:
        return None


def test_a_binding_that_is_no_coroutine_is_told_how_to_be_one() -> None:
    assert "is not a coroutine: define it with `async def`" in run(NoCoroutine()).said("p0")[0]


class BindsWrongly(Bind, frozen=True):
    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        if is_good(pod):
            return SKIP
        return True  # type: ignore[return-value]


def test_a_binder_that_answers_nonsense_binds_nothing() -> None:
    ended = run(BindsWrongly())

    assert ended.nodes["p0"] == "a"
    assert (
        "running Bind plugin 'BindsWrongly': answered True: answer None or" in ended.said("p1")[0]
    )


class RaisesAfterwards(PostBind, frozen=True):
    def post_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        raise RuntimeError("too late")


def test_what_fails_after_the_binding_changes_nothing() -> None:
    assert set(run(RaisesAfterwards()).nodes.values()) == {"a"}


class Books(Reserve, Permit, frozen=True):
    """Books, and then is never permitted: what is booked has to come back."""

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.shared.setdefault("booked", set()).add(pod.uid)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared["booked"].discard(pod.uid)

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        if not is_good(pod):
            raise RuntimeError("never")
        return unschedulable("not now")


def test_what_was_booked_is_given_back_also_by_a_plugin_that_was_switched_off() -> None:
    guard = PluginGuard(failure_threshold=1)

    ended = run(Books(), guard=guard)

    assert set(ended.nodes.values()) == {""}
    assert ended.shared["booked"] == set()
