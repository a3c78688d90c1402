"""What must hold at every moment, seen from the store alone.

1. A pod that is on a node stays on it.
2. No binding puts more on a node than it has, or more in a namespace than its quota.
3. Pods that want to be apart are.
4. A gang is not bound before it is whole.
5. Nothing is bound to a node that has been gone, or closed, for long.
"""

from collections.abc import Container
from typing import Final

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL, PodGroup
from moorage.api.resource_amounts import node_allocatable, pod_requests
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_resources import NODES, PODS, RESOURCES
from tests.twin import settled
from tests.twin.objects import QUOTA_CPU, TENANT

GROUPS: Final = RESOURCES["podgroups"]
LONG_SECONDS: Final = 60.0
"""Longer than any watch of a replica that leads is behind."""


class Checker:
    """Follows every pod of the store; `violations` has what was broken, in order."""

    def __init__(self, cluster: MemoryCluster, deleted: Container[str]) -> None:
        self._cluster = cluster
        self._deleted = deleted
        """Pods that somebody else deleted."""
        self._where: dict[str, str] = {}
        self._whole: dict[str, float] = {}
        """When gangs last had as many pods as they need."""
        self._begun: set[str] = set()
        self._robbed: set[str] = set()
        """Gangs of which a pod was evicted."""
        self._closed: dict[str, float] = {}
        """Nodes that take no pods, and since when."""
        self.violations: list[str] = []
        self.binds = 0

    async def watch_pods(self) -> None:
        """Look at every change of a pod as it is stored."""
        version = str(self._cluster.resource_version)
        async for event in self._cluster.watch(PODS, resource_version=version, bookmarks=False):
            if isinstance(event.object, Pod):
                if event.type == "DELETED":
                    self._gone(event.object)
                else:
                    self._pod(event.object)

    async def watch_nodes(self) -> None:
        """Note when nodes are closed, opened and taken away."""
        version = str(self._cluster.resource_version)
        async for event in self._cluster.watch(NODES, resource_version=version, bookmarks=False):
            if isinstance(event.object, Node):
                if event.type == "DELETED" or event.object.spec.unschedulable:
                    self._closed.setdefault(event.object.name, self._cluster.clock.now())
                else:
                    self._closed.pop(event.object.name, None)

    def problems(self) -> list[str]:
        """What is not as it should be when nothing has failed for a while."""
        return settled.problems(self._cluster, self._robbed)

    def quiet(self) -> None:
        """It has been quiet for long enough: what is still wrong is a violation."""
        for problem in self.problems():
            self._say(problem)

    def _pod(self, pod: Pod) -> None:
        gang = pod.labels.get(POD_GROUP_LABEL, "")
        if gang:
            self._count(gang)
        known, node = self._where.get(pod.uid, ""), pod.spec.node_name
        if known and node != known:
            self._say(f"pod {pod.name} moved from {known} to {node or 'no node'}")
        if node and not known:
            self.binds += 1
            self._where[pod.uid] = node
            self._check_node(node, pod)
            if gang:
                self._check_gang(pod, gang)
            self._check_quota(pod)

    def _gone(self, pod: Pod) -> None:
        """A pod that we evicted, and that was of a gang, takes the rest of it along."""
        if pod.uid in self._deleted:
            return
        conditions = {condition.type for condition in pod.status.conditions}
        if "DisruptionTarget" in conditions and POD_GROUP_LABEL in pod.labels:
            self._robbed.add(pod.labels[POD_GROUP_LABEL])

    def _count(self, name: str) -> None:
        """Note when a gang is whole."""
        groups = {g.name: g for g in self._cluster.objects(GROUPS) if isinstance(g, PodGroup)}
        there = [pod for pod in self._pods() if pod.labels.get(POD_GROUP_LABEL) == name]
        if name in groups and len(there) >= groups[name].min_count:
            self._whole[name] = self._cluster.clock.now()

    def _check_gang(self, bound: Pod, name: str) -> None:
        """A gang is bound when it is whole; a pod of it may be gone when the binding arrives."""
        whole_at = self._whole.get(name, float("-inf"))
        if name not in self._begun and self._cluster.clock.now() - whole_at > LONG_SECONDS:
            self._say(f"pod {bound.name} is bound though its gang is not whole")
        self._begun.add(name)

    def _check_node(self, name: str, bound: Pod) -> None:
        closed_for = self._cluster.clock.now() - self._closed.get(name, float("inf"))
        if closed_for > LONG_SECONDS:
            self._say(f"pod {bound.name} is bound to {name}, closed or gone for {closed_for:.0f} s")
        there = [pod for pod in self._pods() if pod.spec.node_name == name]
        node = next((n for n in self._cluster.objects(NODES) if n.name == name), None)
        if isinstance(node, Node):
            used, offered = _cpu(there), node_allocatable(node)["cpu"]
            if used > offered:
                self._say(f"node {name} has {used} of {offered} m requested with {bound.name}")
        if sum(pod.labels.get("a") == "a" for pod in there) > 1:
            self._say(f"two pods on {name} that are to be apart, {bound.name} the last")

    def _check_quota(self, bound: Pod) -> None:
        if bound.namespace == TENANT:
            nodes = {node.name for node in self._cluster.objects(NODES)}
            inside = [pod for pod in self._pods() if pod.namespace == TENANT]
            used = _cpu([pod for pod in inside if pod.spec.node_name in nodes])
            if used > QUOTA_CPU * 1000:
                self._say(f"the tenant uses {used} of {QUOTA_CPU}000 m with {bound.name}")

    def _pods(self) -> list[Pod]:
        return settled.pods_of(self._cluster)

    def _say(self, violation: str) -> None:
        self.violations.append(f"{self._cluster.clock.now():.3f}: {violation}")


def _cpu(pods: list[Pod]) -> int:
    return sum(pod_requests(pod).get("cpu", 0) for pod in pods)
