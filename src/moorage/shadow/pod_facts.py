"""What the KPIs need to know of a pod and a node of a live cluster."""

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.kpi.meter import Meter, PodFacts
from moorage.simulate.node_pool import offered
from moorage.simulate.pod_template import class_of, template_of
from moorage.simulate.scenario_manifests import PRICE


def facts_of(pod: Pod) -> PodFacts:
    """The facts of a pod; its tenant is its namespace, its workload that of its controller."""
    named = dict(pod.metadata.labels)
    if pod.owner is not None:
        named.setdefault("app", f"{pod.owner.kind}/{pod.owner.name}")
    return template_of(pod, pod.namespace, named, class_of(pod.requests)).facts()


def price_of(node: Node) -> float:
    """The node's price per hour, if it has the annotation."""
    try:
        return max(0.0, float(node.metadata.annotations.get(PRICE, "0")))
    except ValueError:
        return 0.0


class MeterBook:
    """A meter that tolerates what happens in live clusters: pods on unknown nodes, nodes removed
    before their pods, pods reported twice."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, str] = {}
        """The node of each pod, by uid."""
        self._on: dict[str, set[str]] = {}

    def node(self, now: float, node: Node) -> None:
        """A node was added or changed; its first allocatable resources count."""
        if node.name not in self._nodes:
            self._nodes[node.name] = node
            self.meter.node_joined(now, node.name, offered(node), price_of(node), node.zone)

    def node_gone(self, now: float, name: str) -> None:
        """A node was removed, and its pods with it."""
        if self._nodes.pop(name, None) is None:
            return
        for uid in list(self._on.pop(name, ())):
            del self._pods[uid]
            self.meter.pod_withdrawn(now, uid)
        self.meter.node_left(now, name)

    def arrived(self, now: float, pod: Pod) -> None:
        """A pod was created."""
        if pod.uid not in self._pods:
            self._pods[pod.uid] = ""
            self.meter.pod_arrived(now, pod.uid, facts_of(pod))

    def placed(self, now: float, uid: str, node: str) -> None:
        """A pod runs on a node."""
        if self._pods.get(uid) == "" and node in self._nodes:
            self._pods[uid] = node
            self._on.setdefault(node, set()).add(uid)
            self.meter.pod_placed(now, uid, node)

    def stopped(self, now: float, uid: str) -> None:
        """A pod was evicted, and is pending again."""
        if self._take_off(uid):
            self._pods[uid] = ""
            self.meter.pod_stopped(now, uid)

    def gone(self, now: float, uid: str, *, completed: bool = False, evicted: bool = False) -> None:
        """A pod has ended or was deleted."""
        if uid not in self._pods:
            return
        ran = self._take_off(uid)
        del self._pods[uid]
        if ran and completed:
            self.meter.pod_completed(now, uid)
            return
        if ran and evicted:
            self.meter.pod_stopped(now, uid)
        self.meter.pod_withdrawn(now, uid)

    def _take_off(self, uid: str) -> bool:
        node = self._pods.get(uid)
        if not node:
            return False
        self._on[node].discard(uid)
        return True
