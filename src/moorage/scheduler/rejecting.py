"""A kubelet would not take our pod: its node is left alone for a while, and looked at again."""

from typing import TYPE_CHECKING

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.watch.errors import ApiError
from moorage.watch.reflector import Change
from moorage.watch.resources import NODES

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


class Rejecting:
    """Hears of pods that were rejected."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler

    def rejected(self, pod: Pod) -> None:
        """Leave the pod's node alone, say so, and read the node again."""
        desk, node = self._desk, pod.spec.node_name
        desk.cooling.begin(node, desk.clock.now())
        why = f"{pod.status.reason}: node {node} rejected the pod and is left alone for a while"
        desk.reporting.event(pod, "Warning", "NodeRejected", "Scheduling", why)
        desk.start(self._reread(node), f"reread/{node}")

    async def _reread(self, name: str) -> None:
        desk = self._desk
        try:
            node = decode_as(await desk.server.get(NODES, "", name), Node)
        except ApiError as error:
            desk.observers.failed(f"Node {name}", "", error)
            return
        row = desk.cache.table.row_of.get(name)
        if row is not None:
            desk.handler.apply(Change("updated", desk.cache.table.node(row), node))
