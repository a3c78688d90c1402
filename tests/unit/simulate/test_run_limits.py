"""A run ends, in bounded virtual and real time, whatever a plugin's hooks do."""

import asyncio
import time
from typing import Any

import pytest

from moorage import Cycle, Node, Pod
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import NO_LIMITS, PluginGuard
from moorage.framework.plugin import Plugin
from moorage.framework.points import (
    Bind,
    Filter,
    Permit,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    Reserve,
    Score,
)
from moorage.framework.verdicts import Wait, unschedulable
from moorage.simulate.run_limits import RunLimits, RunWatch
from moorage.testing import node, pod
from tests.unit.simulate.embedded_runs import places, run

QUICK = PluginGuard(deadline=Duration.parse("20ms"))
PATIENCE_SECONDS = 60.0
"""A run that has no end takes longer, also where the machine is busy."""


def _raises(*args: Any) -> Any:
    raise RuntimeError("out of coffee")


def _rejects(*args: Any) -> Any:
    return unschedulable("never")


def _blocks(*args: Any) -> Any:
    time.sleep(3600)


def _nonsense(*args: Any) -> Any:
    return 42


HOOKS: dict[type[Plugin], tuple[str, ...]] = {
    PreEnqueue: ("pre_enqueue",),
    PreFilter: ("pre_filter",),
    Filter: ("filter",),
    PostFilter: ("post_filter",),
    PreScore: ("pre_score",),
    Score: ("score",),
    Reserve: ("reserve",),
    Permit: ("permit",),
    PostBind: ("post_bind",),
}
ASYNC_HOOKS: dict[type[Plugin], str] = {PreBind: "pre_bind", Bind: "bind"}


def _plugin(point: type[Plugin], hook: str, body: Any) -> type[Plugin]:
    """A plugin with one hook, that does as told."""
    return type("Bad", (point,), {"__doc__": "Bad.", "__module__": __name__, hook: body})


@pytest.mark.parametrize("fault", [_raises, _rejects, _blocks, _nonsense])
@pytest.mark.parametrize("point", HOOKS, ids=lambda point: point.__name__)
def test_a_run_ends_whatever_a_hook_does(point: type[Plugin], fault: Any) -> None:
    began = time.monotonic()
    plugin = _plugin(point, HOOKS[point][0], lambda self, *args: fault())

    ended = run(node("a"), pod("one"), pod("two"), plugin=plugin, guard=QUICK)

    assert time.monotonic() - began < PATIENCE_SECONDS
    assert ended.cluster.clock.now() - 1_767_225_600.0 < 8000


@pytest.mark.parametrize("fault", [_raises, _rejects, _blocks, _nonsense])
@pytest.mark.parametrize("point", ASYNC_HOOKS, ids=lambda point: point.__name__)
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "plain"])
def test_a_run_ends_whatever_an_awaited_hook_does(
    point: type[Plugin], fault: Any, asynchronous: bool
) -> None:
    async def hook(self: Any, cycle: Cycle, pod: Pod, node: Node) -> Any:
        return fault()

    def plain(self: Any, cycle: Cycle, pod: Pod, node: Node) -> Any:
        return fault()

    began = time.monotonic()
    plugin = _plugin(point, ASYNC_HOOKS[point], hook if asynchronous else plain)

    ended = run(node("a"), pod("one"), pod("two"), plugin=plugin, guard=QUICK)

    assert time.monotonic() - began < PATIENCE_SECONDS
    if point is PreBind:
        assert places(ended) == {"one": "", "two": ""}
        assert ended.gave_up or ended.story.errors


class WaitsForEver(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Any:
        return Wait(30)


def test_a_permit_that_is_never_granted_ends_the_run_and_is_said() -> None:
    ended = run(node("a"), *(pod(f"p{i}") for i in range(20)), plugin=WaitsForEver)

    assert "attempts in a row came to nothing" in ended.gave_up
    assert not any(places(ended).values())


class AwaitsNobody(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Any:
        if pod.name == "stuck":
            await asyncio.Event().wait()
        return None


@pytest.mark.parametrize("guard", [NO_LIMITS, QUICK], ids=["unguarded", "guarded"])
def test_a_pre_bind_that_never_returns_keeps_nobody_else(guard: PluginGuard) -> None:
    ended = run(node("a"), pod("stuck"), pod("free"), plugin=AwaitsNobody, guard=guard)

    assert places(ended) == {"stuck": "", "free": "a"}


class FailsOne(PreBind, frozen=True):
    """One pod fails at once, again and again; the other takes half an hour."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Any:
        if pod.name == "fails":
            raise RuntimeError("no")
        await asyncio.sleep(500)
        return None


def test_a_slow_binding_is_waited_for_while_another_fails_again_and_again() -> None:
    guard = PluginGuard(failure_threshold=0)
    ended = run(node("a"), pod("fails"), pod("slow"), plugin=FailsOne, guard=guard)

    assert places(ended) == {"fails": "", "slow": "a"}


@pytest.mark.parametrize(
    ("now", "attempts", "binding_for", "want"),
    [
        pytest.param(100.0, 15, 0.0, "", id="a few attempts in vain are normal"),
        pytest.param(100.0, 100, 0.0, "came to nothing", id="many are not"),
        pytest.param(100.0, 100, 90.0, "", id="while a binding takes its time, they are"),
        pytest.param(9999.0, 0, 0.0, "nothing was bound", id="nor is an endless wait"),
        pytest.param(100.0, 9999, 0.0, "displace", id="nor are pods that displace one another"),
    ],
)
def test_verdicts(now: float, attempts: int, binding_for: float, want: str) -> None:
    watch = RunWatch(RunLimits())
    watch.verdict(attempts=0, progress=5, pods=9, pending=2, now=0.0, binding_for=0.0)

    verdict = watch.verdict(
        attempts=attempts, progress=5, pods=9, pending=2, now=now, binding_for=binding_for
    )

    assert want in verdict
    assert bool(want) == bool(verdict)
