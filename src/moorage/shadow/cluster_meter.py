"""KPIs of the cluster as it is, whatever schedules it."""

from typing import ClassVar, Final

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.scheduler.feature import Feature
from moorage.shadow.pod_facts import MeterBook
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change

DISRUPTED: Final = "DisruptionTarget"
"""The condition of evicted pods."""


def was_evicted(pod: Pod) -> bool:
    """Whether a pod was evicted."""
    return any(each.type == DISRUPTED and each.status == "True" for each in pod.status.conditions)


class ClusterMeter(Feature):
    """Follows the changes of pods and nodes, and feeds a meter."""

    hears: ClassVar[tuple[str, ...]] = ("pods", "nodes")

    def __init__(self, clock: Clock, book: MeterBook) -> None:
        self._clock = clock
        self.book = book

    def after(self, change: Change, resource: Resource) -> None:
        now, old, new = self._clock.now(), change.old, change.new
        if isinstance(new, Node):
            self.book.node(now, new)
        elif isinstance(old, Node):
            self.book.node_gone(now, old.name)
        elif isinstance(new, Pod):
            self._pod(now, new)
        elif isinstance(old, Pod):
            self.book.gone(now, old.uid, evicted=was_evicted(old))

    def _pod(self, now: float, pod: Pod) -> None:
        if pod.is_terminal:
            succeeded = pod.status.phase == "Succeeded"
            self.book.gone(now, pod.uid, completed=succeeded, evicted=was_evicted(pod))
            return
        self.book.arrived(now, pod)
        if pod.spec.node_name:
            self.book.placed(now, pod.uid, pod.spec.node_name)
