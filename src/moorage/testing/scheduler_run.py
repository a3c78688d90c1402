"""The whole scheduler on an embedded cluster, in virtual time, with queue, binding and events."""

import asyncio
import random
from collections.abc import Iterable
from typing import Any

from moorage.api.pod import Pod
from moorage.app.assembly import assemble
from moorage.clock import VirtualClock, run_virtual
from moorage.config.moorage_configuration import NO_LIMITS, PluginGuard
from moorage.cycle.profile import Profile
from moorage.framework.plugin import Plugin
from moorage.guard.guards import Guards
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing.builders import NodeBuilder, PodBuilder
from moorage.testing.small_cluster import profile_of
from moorage.watch.api_resources import EVENTS, PODS

START = 1_767_225_600.0

Raw = dict[str, Any]


class Scheduled:
    """The result: `nodes` has each pod's node by the pod's name, `""` if it waits."""

    def __init__(self, cluster: MemoryCluster, profile: Profile) -> None:
        pods = [pod for pod in cluster.objects(PODS) if isinstance(pod, Pod)]
        events = [cluster.read(EVENTS, e.namespace, e.name) for e in cluster.objects(EVENTS)]
        self.nodes = {pod.name: pod.spec.node_name for pod in pods}
        self.events: list[Raw] = sorted(events, key=lambda event: event["metadata"]["name"])
        self.shared: dict[str, Any] = profile.shared
        """What plugins stored in `cycle.shared`."""
        self.failures = _failures(profile)
        """The last failure of plugins by extension point."""

    def said(self, pod: str, reason: str = "FailedScheduling") -> list[str]:
        """The notes of a pod's events with this reason."""
        return [
            event["note"]
            for event in self.events
            if event["reason"] == reason and event["regarding"]["name"] == pod
        ]


def schedule(
    *objects: NodeBuilder | PodBuilder | Raw,
    plugins: Iterable[Plugin] = (),
    seconds: float = 60.0,
    seed: int = 0,
    guard: PluginGuard = NO_LIMITS,
) -> Scheduled:
    """Run the scheduler for some virtual seconds; objects other than nodes and pods are raw dicts.

    `plugins` and `guard` are as for `Cluster`. A QueueSort plugin replaces PrioritySort, and a Bind
    plugin runs before DefaultBinder.
    """
    clock, rng = VirtualClock(START), random.Random(seed)
    cluster = MemoryCluster(clock=clock, rng=rng)
    for obj in objects:
        cluster.apply(_raw(obj))
    profile = profile_of(list(plugins), False, guard)

    async def main() -> None:
        scheduler = assemble(cluster, {profile.scheduler_name: profile}, clock=clock, rng=rng)
        tasks = [
            asyncio.ensure_future(scheduler.run()),
            asyncio.ensure_future(Kubelet(cluster).serve()),
        ]
        await clock.sleep(seconds)
        ended = tasks[0].done()
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        if ended and isinstance(results[0], BaseException):
            raise results[0]

    run_virtual(main(), clock)
    return Scheduled(cluster, profile)


def _failures(profile: Profile) -> dict[str, str]:
    failed: dict[str, str] = {}
    for guard in profile.guards if isinstance(profile.guards, Guards) else ():
        failed |= guard.last_failures
    return failed


def _raw(obj: NodeBuilder | PodBuilder | Raw) -> Raw:
    if isinstance(obj, dict):
        return obj
    kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
    return {"apiVersion": "v1", "kind": kind, **obj.raw}
