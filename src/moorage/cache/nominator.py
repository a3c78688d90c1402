"""The nominator: pods that were nominated to a node, by preemption or while they are bound."""

from collections.abc import Iterable, Mapping

from moorage.cache.podinfo import PodInfo


class Nominator:
    """Nominated pods by node name; `version` grows with every change."""

    __slots__ = ("_by_node", "_node_of", "version")

    def __init__(self) -> None:
        self.version = 0
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def put(self, pod: PodInfo, node: str) -> None:
        self.remove(pod.uid)
        if node:
            self.version += 1
            self._by_node.setdefault(node, {})[pod.uid] = pod
            self._node_of[pod.uid] = node

    def remove(self, uid: str) -> None:
        node = self._node_of.pop(uid, None)
        if node is not None:
            self.version += 1
            pods = self._by_node[node]
            del pods[uid]
            if not pods:
                del self._by_node[node]

    def node_of(self, uid: str) -> str | None:
        return self._node_of.get(uid)

    def on(self, node: str) -> list[PodInfo]:
        return list(self._by_node.get(node, {}).values())

    def by_node(self) -> Iterable[tuple[str, Mapping[str, PodInfo]]]:
        """Nodes with the pods nominated to them, by uid."""
        return self._by_node.items()

    def nodes(self) -> list[str]:
        return list(self._by_node)

    def __len__(self) -> int:
        return len(self._node_of)
