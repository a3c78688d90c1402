"""What must hold at every moment, and when all is quiet; seen from the store alone."""

import random
from collections import Counter
from typing import Any

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL, PodGroup
from moorage.api.resource_amounts import node_allocatable, pod_requests
from moorage.cache.cache import Cache
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.explain.world import World
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing.small_cluster import profile_of
from moorage.watch.api_resources import NODES, PODS, RESOURCES

GROUPS = RESOURCES["podgroups"]


class Checker:
    """Follows every pod of the store; `violations` has what was broken, in order."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._where: dict[str, str] = {}
        self._begun: set[str] = set()
        self._robbed: set[str] = set()
        """Gangs of which a pod was evicted."""
        self.violations: list[str] = []
        self.binds = 0

    async def watch(self) -> None:
        """Look at every change of a pod as it is stored."""
        version = str(self._cluster.resource_version)
        async for event in self._cluster.watch(PODS, resource_version=version, bookmarks=False):
            if isinstance(event.object, Pod):
                if event.type == "DELETED":
                    self._gone(event.object)
                else:
                    self._pod(event.object)

    def _pod(self, pod: Pod) -> None:
        known, node = self._where.get(pod.uid, ""), pod.spec.node_name
        if known and node != known:
            self._say(f"pod {pod.name} moved from {known} to {node or 'no node'}")
        if node and not known:
            self.binds += 1
            self._where[pod.uid] = node
            self._check_node(node, pod)
            self._check_gang(pod)

    def _gone(self, pod: Pod) -> None:
        """A pod that we evicted, and that was of a gang, takes the rest of it along."""
        conditions = {condition.type for condition in pod.status.conditions}
        if "DisruptionTarget" in conditions and POD_GROUP_LABEL in pod.labels:
            self._robbed.add(pod.labels[POD_GROUP_LABEL])

    def _check_gang(self, bound: Pod) -> None:
        """A gang that is not whole yet is not bound in part."""
        name = bound.labels.get(POD_GROUP_LABEL)
        groups = {g.name: g for g in self._cluster.objects(GROUPS) if isinstance(g, PodGroup)}
        if name in groups and name not in self._begun:
            there = [pod for pod in self._pods() if pod.labels.get(POD_GROUP_LABEL) == name]
            if len(there) < groups[name].min_count:
                self._say(f"pod {bound.name} is bound though its gang has {len(there)} pods")
            self._begun.add(name)

    def _check_node(self, name: str, bound: Pod) -> None:
        nodes = {n.name: n for n in self._cluster.objects(NODES) if isinstance(n, Node)}
        there = [pod for pod in self._pods() if pod.spec.node_name == name]
        if name in nodes:
            used = sum(pod_requests(pod).get("cpu", 0) for pod in there)
            offered = node_allocatable(nodes[name])["cpu"]
            if used > offered:
                self._say(f"node {name} has {used} of {offered} m requested with {bound.name}")
        if sum(pod.labels.get("a") == "a" for pod in there) > 1:
            self._say(f"two pods on {name} that are to be apart, {bound.name} the last")

    def _pods(self) -> list[Pod]:
        pods = (pod for pod in self._cluster.objects(PODS) if isinstance(pod, Pod))
        return [pod for pod in pods if not pod.is_terminal]

    def quiet(self) -> None:
        """Nothing has failed for a long time: everything is where it should be, and says so."""
        cache = self._cache()
        profiles = {"default-scheduler": profile_of([], False, NO_LIMITS)}
        world = World(cache, profiles, random.Random(0))
        self._check_gangs(world)
        for pod in self._pods():
            condition = self._scheduled(pod)
            if pod.spec.node_name and condition == "False":
                self._say(f"pod {pod.name} is bound and says that it is not scheduled")
            if pod.spec.node_name or pod.is_terminating or POD_GROUP_LABEL in pod.labels:
                continue
            if world.fits(pod):
                self._say(f"pod {pod.name} fits and waits")
            elif condition != "False":
                self._say(f"pod {pod.name} waits and does not say why")

    def _check_gangs(self, world: World) -> None:
        """A gang that is bound in part, as after a crash, waits for room and for nothing else."""
        members: dict[str, list[Pod]] = {}
        for pod in self._pods():
            if POD_GROUP_LABEL in pod.labels and not pod.is_terminating:
                members.setdefault(pod.labels[POD_GROUP_LABEL], []).append(pod)
        for group in self._cluster.objects(GROUPS):
            pods = members.get(group.name, [])
            bound = sum(bool(pod.spec.node_name) for pod in pods)
            if not isinstance(group, PodGroup) or not 0 < bound < group.min_count:
                continue
            waiting = [pod for pod in pods if not pod.spec.node_name]
            if group.name in self._robbed:
                self._say(f"gang {group.name} was evicted in part: {bound} are left")
            elif len(pods) >= group.min_count and _fit_together(world, waiting):
                self._say(f"gang {group.name}: {bound} bound, and there is room for the rest")

    def _cache(self) -> Cache:
        cache = Cache()
        for node in self._cluster.objects(NODES):
            if isinstance(node, Node):
                cache.put_node(node)
        for pod in self._pods():
            if pod.spec.node_name:
                cache.put_pod(pod)
        return cache

    def _scheduled(self, pod: Pod) -> str:
        raw: Any = self._cluster.read(PODS, pod.namespace, pod.name)
        found = {c["type"]: c["status"] for c in raw.get("status", {}).get("conditions", [])}
        return str(found.get("PodScheduled", ""))

    def _say(self, violation: str) -> None:
        self.violations.append(f"{self._cluster.clock.now():.3f}: {violation}")

    def summary(self) -> Counter[str]:
        return Counter({"binds": self.binds, "violations": len(self.violations)})


def _fit_together(world: World, pods: list[Pod]) -> bool:
    with world.cache.trial():
        for pod in pods:
            rows = world.question(pod).feasible().nonzero()[0]
            if not len(rows):
                return False
            world.cache.place_on(int(rows[0]), world.cache.info(pod))
    return True
