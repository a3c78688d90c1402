"""A kubelet for all nodes of the embedded cluster: starts, ends and removes pods on request."""

import asyncio
from contextlib import aclosing

from moorage.memory import conditions, updates
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.versioned_store import Record
from moorage.watch.api_errors import Conflict, NotFound
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw


class Kubelet:
    """Starts, ends and rejects pods on request, and finishes the deletion of pods."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    def run(self, namespace: str, name: str) -> None:
        """Start a bound pod: it becomes Running and Ready."""
        now = self._cluster.registry.stamps.now()
        status: Raw = {**self._pod_on_node(namespace, name)["status"], "phase": "Running"}
        status.setdefault("startTime", now)
        for type in ("Initialized", "ContainersReady", "Ready"):
            status = conditions.set_condition(status, now, type, "True")
        self._write(namespace, name, status)

    def finish(self, namespace: str, name: str, *, succeeded: bool = True) -> None:
        """End a pod: it becomes Succeeded or Failed, and releases its node's resources."""
        now = self._cluster.registry.stamps.now()
        phase = "Succeeded" if succeeded else "Failed"
        status: Raw = {**self._pod_on_node(namespace, name)["status"], "phase": phase}
        for type in ("ContainersReady", "Ready"):
            reason = "PodCompleted" if succeeded else "PodFailed"
            status = conditions.set_condition(status, now, type, "False", reason=reason)
        self._write(namespace, name, status)

    def reject(
        self,
        namespace: str,
        name: str,
        *,
        resource: str = "cpu",
        requested: int = 0,
        used: int = 0,
        capacity: int = 0,
    ) -> None:
        """Reject a pod that its node has no room for: it becomes Failed (OutOfcpu, say)."""
        shortage = (
            f"Pod was rejected: Node didn't have enough resource: {resource}, "
            f"requested: {requested}, used: {used}, capacity: {capacity}"
        )
        status: Raw = {
            **self._pod_on_node(namespace, name)["status"],
            "phase": "Failed",
            "reason": f"OutOf{resource}",
            "message": shortage,
            "startTime": self._cluster.registry.stamps.now(),
        }
        self._write(namespace, name, status)

    async def finish_termination(self, namespace: str, name: str, uid: str = "") -> None:
        """Remove a deleted pod at once, whatever is left of its grace period."""
        await self._cluster.delete(PODS, namespace, name, uid=uid, grace_period_seconds=0)

    async def serve(self, stop_seconds: float = 0.0) -> None:
        """Remove every deleted pod after `stop_seconds`, or after its grace period if sooner."""
        async with (
            asyncio.TaskGroup() as group,
            aclosing(self._cluster.follow(PODS, _is_to_stop)) as events,
        ):
            async for event in events:
                if event.object is not None:
                    stopping = self._stop(event.object.namespace, event.object.name, stop_seconds)
                    group.create_task(stopping, name=f"kubelet/{event.object.key}")

    async def _stop(self, namespace: str, name: str, seconds: float) -> None:
        try:
            metadata = self._cluster.read(PODS, namespace, name)["metadata"]
            grace = metadata.get("deletionGracePeriodSeconds") or 0
            is_kept = not grace and metadata.get("finalizers")
            if metadata.get("deletionTimestamp") and not is_kept:
                await self._cluster.clock.sleep(min(seconds, grace))
                await self.finish_termination(namespace, name, metadata["uid"])
        except (Conflict, NotFound):
            return

    def _pod_on_node(self, namespace: str, name: str) -> Raw:
        pod = self._cluster.read(PODS, namespace, name)
        if not pod["spec"].get("nodeName"):
            raise ValueError(f"pod {namespace}/{name} is on no node: bind it first")
        return pod

    def _write(self, namespace: str, name: str, status: Raw) -> None:
        change = {"status": status}
        registry = self._cluster.registry
        updates.patch_object(registry, PODS, namespace, name, change, "status", "merge")


def _is_to_stop(record: Record) -> bool:
    return record.type != "DELETED" and bool(record.entry.raw["metadata"].get("deletionTimestamp"))
