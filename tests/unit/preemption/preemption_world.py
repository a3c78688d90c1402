"""Pods of low and high priority on nodes of one core, and API servers that are slow or refuse."""

from typing import Any

from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_errors import Forbidden
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Resource
from tests.unit.gang.gang_world import GangWorld

Raw = dict[str, Any]


def low(name: str, on: str, cpu: str = "1", grace: int = 0, **spec: Any) -> PodBuilder:
    """A running pod of no priority."""
    made = pod(name).requesting(cpu=cpu).on(on)
    return made.with_spec(terminationGracePeriodSeconds=grace, **spec)


def high(name: str, cpu: str = "1", priority: int = 100) -> PodBuilder:
    return pod(name).requesting(cpu=cpu).prioritised(priority)


def started(made: PodBuilder, at: str) -> PodBuilder:
    made.raw["status"]["startTime"] = at
    return made


def one_core(*names: str) -> list[Any]:
    return [node(name).offering(cpu="1") for name in names]


def names(world: GangWorld) -> set[str]:
    return {found.name for found in world.cluster.objects(PODS)}


class Slow(MemoryCluster):
    """An API server that takes two seconds to delete."""

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        await self.clock.sleep(2.0)
        await super().delete(resource, namespace, name, **options)


class SlowToMark(MemoryCluster):
    """An API server that takes two seconds to mark a victim."""

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str = "") -> None:
        told = {each["type"] for each in patch["status"].get("conditions", ())}
        if "DisruptionTarget" in told:
            await self.clock.sleep(2.0)
        await super().patch_pod_status(namespace, name, patch, uid)


class Fleeting(MemoryCluster):
    """A cluster where pods named `fleeting` end just before somebody can touch them."""

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str = "") -> None:
        if name == "fleeting":
            await super().delete(PODS, namespace, name, grace_period_seconds=0)
        await super().patch_pod_status(namespace, name, patch, uid)


class Replacing(MemoryCluster):
    """A cluster where pods named `fleeting` are replaced as those of a StatefulSet: the name stays.

    `before` says when: before the first call of that name.
    """

    before = "delete"

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str = "") -> None:
        await self._replace(name, "patch")
        await super().patch_pod_status(namespace, name, patch, uid)

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        if resource is PODS:
            await self._replace(name, "delete")
        await super().delete(resource, namespace, name, **options)

    async def _replace(self, name: str, call: str) -> None:
        if name == "fleeting" and call == self.before:
            self.before = ""
            await super().delete(PODS, "default", name, grace_period_seconds=0)
            raw = pod(name).gated("later").raw
            raw["metadata"]["uid"] = "another"
            self.apply({"apiVersion": "v1", "kind": "Pod", **raw})


class ReplacingEarly(Replacing):
    """The same, before the victim is marked."""

    before = "patch"


class Forbidding(MemoryCluster):
    """An API server that lets nobody delete pods named `kept`."""

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        if resource is PODS and name == "kept":
            raise Forbidden('pods "kept" is forbidden')
        await super().delete(resource, namespace, name, **options)


def budget(name: str, allowed: int, app: str) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 2,
            "desiredHealthy": 1,
            "expectedPods": 2,
            "observedGeneration": 1,
        },
    }


def owned(made: PodBuilder, by: str) -> PodBuilder:
    made.raw["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "uid": by, "controller": True}
    ]
    return made
