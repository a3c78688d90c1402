"""One node as JSON: its room, its pods, its taints, and which waiting pods it refuses."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from moorage.api import resource_amounts
from moorage.api.node import Node
from moorage.api.taints import Taint
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.dashboard.gpu_devices import device_use
from moorage.dashboard.pod_verdicts import PodVerdicts
from moorage.dashboard.slices import Later, sliced
from moorage.framework.queued_pod import State
from moorage.framework.verdicts import SchedulingError
from moorage.policies.gpu.devices.node_devices import read_devices
from moorage.queue.scheduling_queue import SchedulingQueue

MOST_PODS: Final = 500
MOST_CLASSES: Final = 25
"""For how many kinds of waiting pods a node's filters are run."""


class NodeView:
    """Answers requests for one node."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        verdicts: PodVerdicts | None,
        now: Callable[[], float],
        later: Later,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._verdicts = verdicts
        self._now = now
        self._later = later

    async def page(self, name: str) -> dict[str, Any]:
        """Everything about a node; LookupError if it does not exist."""
        (found,) = await sliced(self._later, (self._node(each) for each in (name,)))
        refused = await sliced(self._later, self._refusals(name))
        counted: Counter[tuple[str, str]] = Counter()
        for reason, plugin, pods in refused:
            counted[reason, plugin] += pods
        found["refuses"] = [
            {"reason": reason, "plugin": plugin, "pods": pods}
            for (reason, plugin), pods in counted.most_common()
        ]
        return found

    def _node(self, name: str) -> dict[str, Any]:
        row = self._row(name)
        table = self._cache.table
        node = table.node(row)
        pods = sorted(table.pods[row].values(), key=lambda info: -info.priority)
        return {
            "name": name,
            "labels": dict(node.labels),
            "taints": [_taint(each) for each in node.taints],
            "unschedulable": node.spec.unschedulable,
            "room": self._room(row, node),
            "pods": [self._pod(info) for info in pods[:MOST_PODS]],
            "pod_count": len(pods),
            "gpus": device_use(read_devices(node), name, table.pods[row].values()).shown(),
            "conditions": [
                {"type": each.type, "status": each.status, "reason": each.reason}
                for each in node.status.conditions
            ],
            "resting_until": self._cache.resting.get(name),
        }

    def _row(self, name: str) -> int:
        row = self._cache.table.row_of.get(name)
        if row is None:
            raise LookupError(f"there is no node {name}")
        return row

    def _room(self, row: int, node: Node) -> dict[str, dict[str, str]]:
        table = self._cache.table
        found = {}
        for index, name in enumerate(table.resources.values):
            if index >= len(table.allocatable):
                break
            offered, asked = int(table.allocatable[index, row]), int(table.requested[index, row])
            if offered or asked:
                found[name] = _room(name, offered, asked)
        found["pods"] = _room("pods", int(table.allowed_pods[row]), int(table.pod_count[row]))
        return found

    def _pod(self, info: PodInfo) -> dict[str, Any]:
        created = info.pod.metadata.creation_timestamp
        age = None if created is None else round(max(0.0, self._now() - created.timestamp()), 1)
        return {
            "pod": info.pod.key,
            "priority": info.priority,
            "requests": requests_of(info),
            "age_s": age,
            "leaving": info.pod.is_terminating,
        }

    def _refusals(self, name: str) -> Iterator[tuple[str, str, int]]:
        """Why the node refuses waiting pods, by kind, and the number of pods of each kind."""
        if self._verdicts is None:
            return
        waiting: Counter[int] = Counter()
        sample: dict[int, PodInfo] = {}
        for each in list(self._queue):
            if each.state is not State.IN_FLIGHT:
                waiting[each.info.cls.id] += 1
                sample.setdefault(each.info.cls.id, each.info)
        for kind, pods in waiting.most_common(MOST_CLASSES):
            try:
                refusal = self._verdicts.on(sample[kind].pod, self._row(name))
            except SchedulingError as error:
                yield str(error), "", pods
                continue
            if refusal is not None:
                yield ", ".join(refusal.reasons) or refusal.message, refusal.plugin, pods


def requests_of(info: PodInfo) -> dict[str, str]:
    """A pod's requests, in readable units."""
    asked = info.cls.named_requests
    return {
        name: resource_amounts.format_amount(name, amount)
        for name, amount in asked.items()
        if amount
    }


def _room(name: str, offered: int, asked: int) -> dict[str, str]:
    amounts = {"allocatable": offered, "requested": asked, "free": offered - asked}
    return {key: resource_amounts.format_amount(name, each) for key, each in amounts.items()}


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
