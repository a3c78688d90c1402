"""What KPIs know of a pod and a node of a live cluster."""

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.kpi.meter import Meter, PodFacts
from moorage.simulate.node_pool import offered
from moorage.simulate.pod_template import class_of, template_of
from moorage.simulate.scenario_manifests import PRICE


def facts_of(pod: Pod) -> PodFacts:
    """A pod, as KPIs see it: its tenant is its namespace, its workload the controller's."""
    named = dict(pod.metadata.labels)
    if pod.owner is not None:
        named.setdefault("app", f"{pod.owner.kind}/{pod.owner.name}")
    return template_of(pod, pod.namespace, named, class_of(pod.requests)).facts()


def price_of(node: Node) -> float:
    """What an hour of the node costs, if it says so."""
    try:
        return max(0.0, float(node.metadata.annotations.get(PRICE, "0")))
    except ValueError:
        return 0.0


class MeterBook:
    """A meter that bears what live clusters do: pods on nodes that are not known, nodes that go
    before their pods, pods that are heard of twice."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, str] = {}
        """Pods, and where they are."""
        self._on: dict[str, set[str]] = {}

    def node(self, now: float, node: Node) -> None:
        """A node is there. What it offers counts as it was first."""
        if node.name not in self._nodes:
            self._nodes[node.name] = node
            self.meter.node_joined(now, node.name, offered(node), price_of(node), node.zone)

    def node_gone(self, now: float, name: str) -> None:
        """A node is there no longer; nor are its pods."""
        if self._nodes.pop(name, None) is None:
            return
        for uid in list(self._on.pop(name, ())):
            del self._pods[uid]
            self.meter.pod_withdrawn(now, uid)
        self.meter.node_left(now, name)

    def arrived(self, now: float, pod: Pod) -> None:
        """A pod has come."""
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
        """A pod was evicted, and waits again."""
        if self._take_off(uid):
            self._pods[uid] = ""
            self.meter.pod_stopped(now, uid)

    def gone(self, now: float, uid: str, *, completed: bool = False, evicted: bool = False) -> None:
        """A pod is there no longer."""
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
