"""After how long a pod that fits nowhere is tried again, though nothing has happened."""

import asyncio
import random

import pytest

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import default_configuration
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt
from moorage.testing import node, pod


class Seen:
    def __init__(self) -> None:
        self.attempts = 0

    def attempted(self, attempt: Attempt) -> None:
        self.attempts += 1


@pytest.mark.parametrize(("longest", "want"), [(60.0, 2), (300.0, 1)])
def test_a_pod_that_fits_nowhere_is_tried_again(longest: float, want: int) -> None:
    clock, seen = VirtualClock(1000.0), Seen()
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    cluster.apply({"apiVersion": "v1", "kind": "Node", **node("n1").raw})
    huge = pod("huge").requesting(cpu="999")
    cluster.apply({"apiVersion": "v1", "kind": "Pod", **huge.raw})
    profiles = build_profiles(default_configuration(), built_in_plugins.built_in())

    async def main() -> None:
        scheduler = assemble(
            cluster,
            profiles,
            clock=clock,
            rng=random.Random(0),
            observers=(seen,),
            max_in_unschedulable=longest,
        )
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(110)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)

    assert seen.attempts == want
