"""Pods that wait on Permit: who lets them through, and who runs out of patience."""

import asyncio

import pytest

from moorage.bind.permits import PREEMPTED, PodsInPreBind, WaitingPod
from moorage.clock import VirtualClock, run_virtual
from moorage.framework.verdicts import Rejection, SchedulingError
from moorage.testing import pod

ALLOWED_AFTER = 10.0


def waited(seconds: dict[str, float], *allowing: str) -> tuple[Rejection | None, float]:
    """How the wait of a pod ended, and when; some plugins let go after a while."""
    clock = VirtualClock(0.0)

    async def main() -> tuple[Rejection | None, float]:
        waiting = WaitingPod(pod("web").build(), "a", seconds)
        outcome = asyncio.ensure_future(waiting.wait(clock))
        await clock.sleep(ALLOWED_AFTER)
        for plugin in allowing:
            waiting.allow(plugin)
        return await outcome, clock.now()

    return run_virtual(main(), clock)


def test_the_first_plugin_to_run_out_of_time_rejects_the_pod() -> None:
    refused, when = waited({"Slow": 900.0, "Quick": 90.5})

    assert refused is not None
    assert (refused.plugin, when) == ("Quick", 90.5)
    assert refused.message == "rejected due to timeout after waiting 1m30.5s at plugin Quick"


def test_a_plugin_that_has_let_go_rejects_nobody() -> None:
    refused, when = waited({"Slow": 900.0, "Quick": 90.0}, "Quick")

    assert refused is not None
    assert (refused.plugin, when) == ("Slow", 900.0)
    assert refused.message == "rejected due to timeout after waiting 15m0s at plugin Slow"


def test_a_pod_goes_on_when_the_last_plugin_lets_go() -> None:
    assert waited({"Slow": 900.0, "Quick": 90.0}, "Quick", "Slow") == (None, ALLOWED_AFTER)


def test_everybody_who_calls_a_pod_back_waits_until_its_work_has_ended() -> None:
    clock = VirtualClock(0.0)
    in_pre_bind = PodsInPreBind()

    async def work() -> None:
        try:
            await clock.sleep(60.0)
        finally:
            await clock.sleep(5.0)

    async def called_back_at(when: float) -> tuple[bool, float]:
        await clock.sleep(when)
        return await in_pre_bind.call_back("u1"), clock.now()

    async def main() -> list[tuple[bool, float]]:
        running = asyncio.ensure_future(in_pre_bind.run("u1", work()))
        answers = await asyncio.gather(*map(called_back_at, (10.0, 12.0, 16.0)))
        with pytest.raises(SchedulingError, match=PREEMPTED):
            await running
        assert "u1" not in in_pre_bind
        return answers

    assert run_virtual(main(), clock) == [(True, 15.0), (True, 15.0), (False, 16.0)]
