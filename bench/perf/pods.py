"""The pods of a workload as a watch tells of them."""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Final

from bench.perf.barrier import Barrier
from bench.perf.client import Client
from bench.perf.throughput import Collector
from moorage.api.pod import Pod
from moorage.watch.api_resources import PODS

LOOK_SECONDS: Final = 0.2
"""How often somebody who waits looks whether the workload still has something to do."""


class Pods:
    """Every pod, by namespace and name; what `collector` counts is told to it."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        self._barriers: dict[str, Barrier] = {}
        """What is waited for, by namespace."""
        self.collector: Collector | None = None
        self.is_leaving: Callable[[], bool] = lambda: False
        """Whether the workload still deletes pods, so that others may have their room."""
        self.on_scheduled: Callable[[Pod], None] | None = None

    async def follow(self, client: Client) -> None:
        async with contextlib.aclosing(client.follow(PODS)) as events:
            async for event in events:
                if isinstance(event.object, Pod):
                    self._note(event.type, event.object)

    def _note(self, type: str, pod: Pod) -> None:
        there = self._pods.setdefault(pod.namespace, {})
        before = there.get(pod.name)
        barrier = self._barriers.get(pod.namespace)
        if barrier is not None:
            barrier.note(before, None if type == "DELETED" else pod)
        if type == "DELETED":
            there.pop(pod.name, None)
            if self.collector is not None:
                self.collector.gone += 1
            return
        there[pod.name] = pod
        if before is None and self.collector is not None:
            self.collector.came(pod)
        if pod.spec.node_name and (before is None or not before.spec.node_name):
            if self.collector is not None:
                self.collector.scheduled(pod)
            if self.on_scheduled is not None:
                self.on_scheduled(pod)

    def of(self, namespace: str, labels: Mapping[str, str]) -> list[Pod]:
        there, wanted = self._pods.get(namespace, {}).values(), labels.items()
        return [pod for pod in there if not wanted or wanted <= pod.metadata.labels.items()]

    async def until_scheduled(
        self, namespace: str, count: int, labels: Mapping[str, str], *, attempted: bool = False
    ) -> None:
        """Return when so many pods have a node or, with `attempted`, have been tried."""

        def is_met(pod: Pod) -> bool:
            is_done = bool(pod.spec.node_name) or (attempted and _is_attempted(pod))
            return is_done and labels.items() <= pod.metadata.labels.items()

        barrier = Barrier(count, is_met, self.of(namespace, {}))
        self._barriers[namespace] = barrier
        while not barrier.is_open:
            began, waits = time.monotonic(), not self.is_leaving()
            await barrier.wait(LOOK_SECONDS)
            if waits and self.collector is not None:
                self.collector.waited += time.monotonic() - began
        del self._barriers[namespace]


def _is_attempted(pod: Pod) -> bool:
    return any(condition.type == "PodScheduled" for condition in pod.status.conditions)
