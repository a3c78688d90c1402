"""A pod that is being deleted before it was placed needs no node."""

import asyncio
import random

from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import default_configuration
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node, pod
from moorage.watch.api_resources import EVENTS, NODES, PODS


def test_it_is_skipped_and_an_event_says_so() -> None:
    """A finalizer keeps it, and a node comes that would take it."""
    clock, rng = VirtualClock(1000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = default_configuration(built_in_plugins.describe_plugins(known))
    lingering = pod("p").requesting(cpu="1").raw
    lingering["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.add(PODS, lingering)

    async def main() -> None:
        scheduler = assemble(cluster, build_profiles(loaded, known), clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(1.0)
        await cluster.delete(PODS, "default", "p")
        cluster.add(NODES, node("a").raw)
        await clock.sleep(20.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)

    (left,) = cluster.objects(PODS)
    assert isinstance(left, Pod)
    assert left.spec.node_name == ""
    found = (cluster.read(EVENTS, each.namespace, each.name) for each in cluster.objects(EVENTS))
    assert "skip schedule deleting pod: default/p" in [each["note"] for each in found]
