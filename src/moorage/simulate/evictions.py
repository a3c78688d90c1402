"""The victims of a run: which pods were evicted, for whom, and from which node."""

from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.bind.event_recorder import EventRecorder
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import EVENTS, PODS

_TARGET = "DisruptionTarget"


class Eviction(msgspec.Struct, frozen=True, rename="camel"):
    """One evicted pod."""

    namespace: str
    name: str
    uid: str
    node: str
    priority: int
    reason: str
    message: str
    by: str = ""
    """Kind and `namespace/name` of the preemptor; empty if it is not known."""
    seconds: float = 0.0
    """Virtual seconds since the run began."""


class UnplacedRecorder(EventRecorder):
    """Writes no "Scheduled" event: nobody reads it, and the binding says the same."""

    def record(
        self, controller: str, about: KubeObject, type_: Any, reason: str, *told: Any, **more: Any
    ) -> None:
        if reason != "Scheduled":
            super().record(controller, about, type_, reason, *told, **more)


class EvictionLog:
    """Watches pods and keeps each deleted one that has the DisruptionTarget condition."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._start = cluster.clock.now()
        self._from = cluster.resource_version
        self._left: list[tuple[Pod, float]] = []

    @property
    def count(self) -> int:
        """The number of pods evicted so far."""
        return len(self._left)

    async def run(self) -> None:
        """Watch pods; never returns."""
        gone = self._cluster.follow(PODS, _is_deleted, str(self._from))
        async with aclosing(gone) as events:
            async for event in events:
                if isinstance(event.object, Pod):
                    self._note(event.object)

    def _note(self, pod: Pod) -> None:
        if any(condition.type == _TARGET for condition in pod.status.conditions):
            self._left.append((pod, self._cluster.clock.now() - self._start))

    def evictions(self) -> tuple[Eviction, ...]:
        """Every victim, in the order of deletion."""
        preemptors = dict(self._preemptors())
        return tuple(_eviction(pod, preemptors.get(pod.uid, ""), at) for pod, at in self._left)

    def _preemptors(self) -> Iterator[tuple[str, str]]:
        """The uid of each victim of a "Preempted" event, and the preemptor that it names."""
        for entry in self._cluster.registry.store.table(EVENTS).entries.values():
            event = entry.raw
            related = event.get("related")
            if related and event.get("reason") == "Preempted":
                name = "/".join(filter(None, (related.get("namespace"), related.get("name"))))
                yield event["regarding"]["uid"], f"{related.get('kind')} {name}"


def _is_deleted(record: Record) -> bool:
    return record.type == "DELETED"


def _eviction(pod: Pod, by: str, seconds: float) -> Eviction:
    target = next(c for c in pod.status.conditions if c.type == _TARGET)
    return Eviction(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        node=pod.spec.node_name,
        priority=pod.spec.priority or 0,
        reason=target.reason,
        message=target.message,
        by=by,
        seconds=seconds,
    )
