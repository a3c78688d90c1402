"""A scheduler on the embedded cluster for which a source is read twice."""

import asyncio
import random
from typing import Any

from moorage.api.pod import Pod
from moorage.app import built_in_plugins, feed_builder
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.feeds.readings import Reading
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import NODES, PODS
from tests.unit.feeds.fakes import NOW, FakeReader


def configured(plugin: str, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": plugin}]}},
                "pluginConfig": [{"name": plugin, "args": args}],
            }
        ],
    }


CONFIGURATION = configured("LowCpuScheduler", {})


def scheduled_after(
    first: Reading,
    second: Reading,
    *,
    plugin: str = "LowCpuScheduler",
    args: dict[str, Any] | None = None,
    seconds: float = 15.0,
    on: NodeBuilder | None = None,
    asking: PodBuilder | None = None,
) -> dict[str, str]:
    """Where a pod is just before a source is read for the second time, and where soon after."""
    clock, rng = VirtualClock(NOW), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = load(
        configured(plugin, args or {}), known=built_in_plugins.describe_plugins(known)
    ).configuration
    cluster.add(NODES, (on or node("n1")).raw)
    found: dict[str, str] = {}

    def where() -> str:
        (only,) = cluster.objects(PODS)
        assert isinstance(only, Pod)
        return only.spec.node_name

    async def main() -> None:
        scheduler = assemble(cluster, build_profiles(loaded, known), clock=clock, rng=rng)
        feeds = feed_builder.build_feeds(scheduler, lambda source: FakeReader(first, second))
        await feeds.prime()
        tasks = [asyncio.ensure_future(each) for each in (scheduler.run(), feeds.run())]
        cluster.add(PODS, (asking or pod("p")).raw)
        await clock.sleep(seconds - 1)
        found["before"] = where()
        await clock.sleep(14.0)
        found["after"] = where()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtual(main(), clock)
    return found
