"""Pods that wait on Permit: who lets them through, and who runs out of patience."""

import asyncio

from moorage.bind.permits import WaitingPod
from moorage.clock import VirtualClock, run_virtual
from moorage.framework.verdicts import Rejection
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
