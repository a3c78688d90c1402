"""What must hold when all is quiet: pods are on nodes, or say truly why they are not."""

import functools
from typing import Any

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL, PodGroup
from moorage.api.resource_amounts import pod_requests
from moorage.cache.cache import Cache
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.cycle.profile import Profile
from moorage.explain.world import World
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing.small_cluster import profile_of
from moorage.watch.api_resources import NODES, PODS, RESOURCES
from tests.twin.objects import QUOTA_CPU, TENANT

GROUPS = RESOURCES["podgroups"]


def problems(cluster: MemoryCluster, robbed: set[str]) -> list[str]:
    """What is wrong; `robbed` are the gangs of which a pod was evicted."""
    pods = pods_of(cluster)
    world = _world(cluster, pods)
    gangs = _Gangs(cluster, pods, robbed)
    found = gangs.in_part(world)
    for pod in pods:
        said = _said(cluster, pod)
        if pod.spec.node_name:
            wrong = "is bound and says that it is not scheduled" if said[0] == "False" else ""
        elif pod.is_terminating:
            wrong = ""
        elif POD_GROUP_LABEL in pod.labels:
            wrong = gangs.wrong_of_waiting(pod, said)
        else:
            wrong = _wrong_of_waiting(world, pods, pod, said)
        if wrong:
            found.append(f"pod {pod.name} {wrong}")
    return found


def pods_of(cluster: MemoryCluster) -> list[Pod]:
    """The pods that use, or ask for, something."""
    pods = (pod for pod in cluster.objects(PODS) if isinstance(pod, Pod))
    return [pod for pod in pods if not pod.is_terminal]


def _wrong_of_waiting(world: World, pods: list[Pod], pod: Pod, said: tuple[str, str]) -> str:
    if said[0] != "False" or not said[1]:
        return "waits and does not say why"
    used = sum(
        pod_requests(each).get("cpu", 0)
        for each in (*pods, pod)
        if each.namespace == TENANT and (each.spec.node_name or each is pod)
    )
    if not world.fits(pod):
        return ""
    if pod.namespace == TENANT and used > QUOTA_CPU * 1000:
        return "" if "quota" in said[1].lower() else f"says nothing of its quota: {said[1]}"
    return f"fits and waits: {said[1]}"


class _Gangs:
    """Gangs by their name, and what is wrong with them."""

    def __init__(self, cluster: MemoryCluster, pods: list[Pod], robbed: set[str]) -> None:
        groups = (g for g in cluster.objects(GROUPS) if isinstance(g, PodGroup))
        self._groups = {group.name: group for group in groups}
        self._robbed = robbed
        self._members: dict[str, list[Pod]] = {}
        for pod in pods:
            if POD_GROUP_LABEL in pod.labels and not pod.is_terminating:
                self._members.setdefault(pod.labels[POD_GROUP_LABEL], []).append(pod)

    def in_part(self, world: World) -> list[str]:
        """A gang that is bound in part, as after a crash, waits for room and for nothing else."""
        found = []
        for name, pods in self._members.items():
            bound = sum(bool(pod.spec.node_name) for pod in pods)
            needed = self._groups[name].min_count
            if not 0 < bound < needed:
                continue
            waiting = [pod for pod in pods if not pod.spec.node_name]
            if name in self._robbed:
                found.append(f"gang {name} was evicted in part: {bound} are left")
            elif len(pods) >= needed and _fit_together(world, waiting):
                found.append(f"gang {name}: {bound} bound, and there is room for the rest")
        return found

    def wrong_of_waiting(self, pod: Pod, said: tuple[str, str]) -> str:
        """A pod of a gang that waits says so, and how many there are where some are missing."""
        name = pod.labels[POD_GROUP_LABEL]
        members, needed = self._members[name], self._groups[name].min_count
        if said[0] != "False":
            return "waits with its gang and does not say why"
        truth = f"{len(members)} of {needed} exist"
        if "exist" in said[1] and truth not in said[1]:
            return f"says {said[1]!r}, and {truth}"
        unbound = all(not each.spec.node_name for each in members)
        if len(members) < needed and unbound and truth not in said[1]:
            return f"says {said[1]!r}, and not that {truth}"
        return ""


@functools.cache
def _profile() -> Profile:
    return profile_of([], False, NO_LIMITS)


def _world(cluster: MemoryCluster, pods: list[Pod]) -> World:
    cache = Cache()
    for node in cluster.objects(NODES):
        if isinstance(node, Node):
            cache.put_node(node)
    for pod in pods:
        if pod.spec.node_name:
            cache.put_pod(pod)
    return World(cache, {"default-scheduler": _profile()})


def _said(cluster: MemoryCluster, pod: Pod) -> tuple[str, str]:
    raw: Any = cluster.read(PODS, pod.namespace, pod.name)
    for condition in raw.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled":
            return condition["status"], condition.get("message", "")
    return "", ""


def _fit_together(world: World, pods: list[Pod]) -> bool:
    with world.cache.trial():
        for pod in pods:
            rows = world.question(pod).feasible().nonzero()[0]
            if not len(rows):
                return False
            world.cache.place_on(int(rows[0]), world.cache.info(pod))
    return True
