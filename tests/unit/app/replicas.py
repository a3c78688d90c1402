"""Replicas of a scheduler on one embedded cluster, each with a line of its own that may fail."""

import asyncio
import random
from collections.abc import AsyncGenerator
from typing import Any

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.leadership import Leadership
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock
from moorage.config.loader import load
from moorage.kube.fence import LeaseFence
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.prometheus_metrics import Metrics
from moorage.scheduler.tasks import cancelled, until_first
from moorage.watch.api_errors import ApiError, Gone, Unreachable
from moorage.watch.api_resources import NAMESPACES, NODES, PODS, Resource
from moorage.watch.api_server import Page, WatchEvent
from moorage.watch.freshness import Freshness

OURS = "moorage"
WAITED_FOR = {"example.com/open": "yes"}
NODES_MADE, PODS_PER_NODE = 4, 4
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": OURS}],
}


class Line:
    """The way from one replica to the cluster.

    While `watch_error` is set, watches of one resource (`about`) end with it and no new one begins;
    while `mute` they bring nothing; `list_error` fails its lists.
    """

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self.watch_error: ApiError | None = None
        self.list_error: ApiError | None = None
        self.mute = False
        self.about = PODS
        self.lists = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        if resource == self.about:
            self.lists += options.get("limit", 0) != 1
            if self.list_error is not None:
                raise self.list_error
        return await self._cluster.list_page(resource, **options)

    async def watch(self, resource: Resource, **options: Any) -> AsyncGenerator[WatchEvent, None]:
        if resource == self.about and self.watch_error is not None:
            raise self.watch_error
        async for event in self._cluster.watch(resource, **options):
            if resource == self.about and self.watch_error is not None:
                raise self.watch_error
            while resource == self.about and self.mute:
                await self._cluster.clock.sleep(1.0)
            yield event


class Replica:
    """One scheduler that leads, or waits to."""

    def __init__(self, cluster: MemoryCluster, clock: VirtualClock, name: str) -> None:
        known = built_in_plugins.installed()
        loaded = load(CONFIGURATION, known=built_in_plugins.describe_plugins(known)).configuration
        rng = random.Random(name)
        self.line = Line(cluster)
        self.metrics = Metrics()
        self.scheduler = assemble(
            self.line,
            build_profiles(loaded, known),
            clock=clock,
            rng=rng,
            observers=(self.metrics,),
            leads=lambda: leadership.may_attempt(),
        )
        self.said: list[str] = []
        fence = LeaseFence(15.0, clock.now)
        self.elector = LeaderElector(
            cluster, LeaseTimes(namespace="default"), name, fence, clock=clock, rng=rng
        )
        self.freshness = Freshness(
            self.line,
            self.scheduler.reflectors.values,
            clock,
            self.scheduler.observers,
            optional=lambda: self.scheduler.optional_reflectors,
            say=lambda level, message, **fields: self.said.append(message),
        )
        leadership = Leadership(self.elector, self.freshness, self.scheduler.active)
        self.scheduler.active.clear()
        self.task = asyncio.ensure_future(until_first(self.scheduler.run(), leadership.run()))

    async def die(self) -> None:
        """End without a word."""
        await cancelled(self.task)


def fill(cluster: MemoryCluster) -> None:
    cluster.add(NAMESPACES, {"metadata": {"name": "kube-system"}})
    for i in range(NODES_MADE):
        room = {"cpu": str(PODS_PER_NODE), "memory": "64Gi", "pods": "110"}
        cluster.add(NODES, {"metadata": {"name": f"n{i}"}, "status": {"allocatable": room}})


async def open_nodes(cluster: MemoryCluster) -> None:
    """Let pods in that wait for open nodes."""
    for i in range(NODES_MADE):
        await cluster.patch(NODES, "", f"n{i}", {"metadata": {"labels": WAITED_FOR}})


def add_pods(cluster: MemoryCluster, prefix: str, count: int, **spec: Any) -> None:
    for i in range(count):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        cluster.add(
            PODS,
            {
                "metadata": {"name": f"{prefix}{i}", "namespace": "default"},
                "spec": {"schedulerName": OURS, "containers": [container], **spec},
            },
        )


def loads(cluster: MemoryCluster) -> dict[str, int]:
    """How many pods each node has."""
    found: dict[str, int] = {}
    for pod in cluster.objects(PODS):
        node = pod.spec.node_name  # type: ignore[attr-defined]
        if node:
            found[node] = found.get(node, 0) + 1
    return found


GONE = Gone("too old resource version")
CUT = Unreachable("cut")
