"""Nodes, pods and budgets in a cache, and what DefaultPreemption says to one attempt."""

from typing import Any

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.cache.cache import Cache
from moorage.config.loader import load
from moorage.config.resolved_profile import resolve
from moorage.cycle import attempt, profile
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import Rejection, unschedulable

GONE = "2026-02-01T00:00:00Z"


class Brittle(Filter, frozen=True):
    """Fails on the node n0."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if node.name == "n0" and len(cycle.pods_on("n0")) == 0:
            raise RuntimeError("no idea")
        return None


class Capricious(PreFilter, frozen=True):
    """Refuses every pod, though no pod is in its way."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection:
        return unschedulable("not today")


def profile_with(*extra: type[Plugin], **args: int) -> Profile:
    known = built_in_plugins.built_in()
    for plugin in extra:
        known.add(plugin)
    described = built_in_plugins.describe_plugins(known)
    config: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": p.__name__} for p in extra]}},
                "pluginConfig": [{"name": "DefaultPreemption", "args": args}] if args else [],
            }
        ],
    }
    loaded = load(config, known=described, source="config")
    return profile.build(resolve(loaded.configuration.profiles[0], described), known)


def node(name: str, cpu: str = "2", **spec: Any) -> Node:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return decode_as(
        {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": allocatable}}, Node
    )


def pod(
    name: str,
    on: str = "",
    priority: int = 0,
    cpu: str = "1",
    *,
    started: int = 0,
    nominated: str = "",
    deleted: bool = False,
    condition: tuple[str, str] | None = None,
    **spec: Any,
) -> Pod:
    status: dict[str, Any] = {
        "nominatedNodeName": nominated,
        "startTime": f"2026-01-01T00:00:{started:02}Z",
    }
    if condition is not None:
        status["conditions"] = [
            {"type": "DisruptionTarget", "status": condition[0], "reason": condition[1]}
        ]
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": name}
    metadata["labels"] = {"app": name.split("-")[0]}
    if deleted:
        metadata["deletionTimestamp"] = GONE
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    spec |= {"nodeName": on, "priority": priority, "containers": containers}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, Pod)


def budget(app: str, allowed: int = 0) -> PodDisruptionBudget:
    return decode_as(
        {
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        },
        PodDisruptionBudget,
    )


def cluster(*things: Node | Pod | PodDisruptionBudget) -> Cache:
    cache = Cache()
    for thing in things:
        if isinstance(thing, Node):
            cache.put_node(thing)
        elif isinstance(thing, PodDisruptionBudget):
            cache.objects.put(thing)
        elif thing.spec.node_name:
            cache.put_pod(thing)
        else:
            cache.nominations.put(cache.info(thing), thing.status.nominated_node_name)
    return cache


def tried(chosen: Profile, cache: Cache, incoming: Pod) -> Unschedulable:
    cycle = Cycle(cache, cache.info(incoming), shared=chosen.shared)
    answer = attempt.run(chosen, cycle)
    assert isinstance(answer, Unschedulable)
    return answer


def said(answer: Unschedulable) -> str:
    """The preemption part of the FailedScheduling text."""
    return answer.message.partition(" preemption: ")[2]


def victims_of(answer: Unschedulable) -> list[str]:
    assert answer.nominated is not None
    return [victim.name for victim in answer.nominated.victims]
