"""Whether a pod that a policy has refused is tried again soon after a change, and fits then."""

import asyncio
import random
from typing import Any

from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import NodeBuilder, PodBuilder
from moorage.watch.api_resources import PODS
from tests.unit.feeds.scheduling import configured

Object = NodeBuilder | PodBuilder | dict[str, Any]
SOON = 15.0
"""Seconds: beyond any back-off, and long before pods are tried whatever happens."""


def places(
    name: str, plugin: str, args: dict[str, Any], world: list[Object], change: Object
) -> list[str]:
    """Where a pod of the world is soon after the beginning, and soon after the change."""
    return _run(name, plugin, args, world, change)[0]


def attempts(plugin: str, world: list[Object], change: Object) -> int:
    """How often the only pod, `p`, is tried all in all."""
    return _run("p", plugin, {}, world, change)[1]


def _run(
    name: str, plugin: str, args: dict[str, Any], world: list[Object], change: Object
) -> tuple[list[str], int]:
    clock, rng = VirtualClock(1_000_000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = load(configured(plugin, args), known=built_in_plugins.describe_plugins(known))
    found: list[str] = []

    def apply(*objects: Object) -> None:
        for each in objects:
            if isinstance(each, dict):
                cluster.apply(each)
            else:
                kind = "Node" if isinstance(each, NodeBuilder) else "Pod"
                cluster.apply({"apiVersion": "v1", "kind": kind, **each.raw})

    async def main() -> int:
        profiles = build_profiles(loaded.configuration, known)
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        for objects in (world, [change]):
            apply(*objects)
            await clock.sleep(SOON)
            (pod,) = (each for each in cluster.objects(PODS) if each.name == name)
            assert isinstance(pod, Pod)
            found.append(pod.spec.node_name)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return scheduler.attempts

    count = run_virtual(main(), clock)
    return found, count
