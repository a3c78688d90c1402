"""The CPU of nodes and who has it: which pods of less priority leave a node that is full."""

import asyncio
from collections.abc import Iterator

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_amounts import CPU, node_allocatable, pod_requests


class Room:
    """Millicores of nodes, and the pods there; `nodes` in the order in which they came."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self._free: dict[str, int] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        """By node and uid."""
        self._where: dict[str, str] = {}
        self._awaited: dict[str, asyncio.Event] = {}
        """Who has to go, by uid."""

    def put_node(self, node: Node) -> None:
        if node.name not in self._free:
            self.nodes.append(node.name)
            self._free[node.name] = node_allocatable(node).get(CPU, 0)
            self._pods[node.name] = {}

    def put(self, pod: Pod, node: str) -> None:
        """The pod is there, or will be."""
        if node in self._free and pod.uid not in self._where:
            self._where[pod.uid] = node
            self._pods[node][pod.uid] = pod
            self._free[node] -= _millicores(pod)

    def remove(self, pod: Pod) -> None:
        """The pod is gone."""
        self._take(pod)
        gone = self._awaited.pop(pod.uid, None)
        if gone is not None:
            gone.set()

    def make(self, pod: Pod, node: str) -> list[Pod]:
        """Who leaves so that the pod fits: the first there with less priority, if any are enough.

        Their room is the pod's from now on.
        """
        missing = _millicores(pod) - self._free[node]
        found = list(self._enough(pod, node, missing))
        for victim in found:
            self._take(victim)
            self._awaited[victim.uid] = asyncio.Event()
        return found

    async def until_gone(self, victims: list[Pod]) -> None:
        for victim in victims:
            gone = self._awaited.get(victim.uid)
            if gone is not None:
                await gone.wait()

    def _enough(self, pod: Pod, node: str, missing: int) -> Iterator[Pod]:
        for victim in self._pods[node].values():
            if missing <= 0:
                return
            if victim.priority < pod.priority:
                missing -= _millicores(victim)
                yield victim

    def _take(self, pod: Pod) -> None:
        node = self._where.pop(pod.uid, None)
        if node is not None:
            del self._pods[node][pod.uid]
            self._free[node] += _millicores(pod)


def _millicores(pod: Pod) -> int:
    return pod_requests(pod).get(CPU, 0)
