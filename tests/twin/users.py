"""What users, kubelets and administrators do to the cluster: one method for each kind of step."""

from typing import Any, TypeVar

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.memory import deletion, updates
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_resources import LEASES, NODES, PODS, Resource
from tests.twin import objects
from tests.twin.story import Step

T = TypeVar("T")
NODES_AT_START = 4
FEWEST_NODES = 3
MOST_NODES = 6
MOST_WAITING = 16
MEMBERS = 3
CREW = 5
NODE_CPU = "4"


class Users:
    """Steps that need no replica."""

    def __init__(self, cluster: MemoryCluster, lease: tuple[str, str]) -> None:
        self._cluster = cluster
        self._lease = lease
        self.kubelet = Kubelet(cluster)
        self._made = 0
        self.deleted: set[str] = set()
        """Pods that users deleted, or that were lost with their node."""

    def begin(self) -> None:
        """What is there before the first step."""
        for _ in range(NODES_AT_START):
            self._add_node()
        self._cluster.apply(objects.urgency())
        self._cluster.apply(objects.budget())
        self._cluster.apply(objects.quota())

    def pod(self, step: Step) -> None:
        cpu = ("500m", "1", "2")[step.target % 3]
        self._add(f"p{step.number}", cpu, {"guarded": "yes"} if step.target % 5 == 0 else {})

    def urgent(self, step: Step) -> None:
        self._add(f"u{step.number}", "2", {}, priorityClassName=objects.URGENT)

    def large(self, step: Step) -> None:
        self._add(f"l{step.number}", "2", {})

    def urgents(self, step: Step) -> None:
        cpu = ("1", "2")[step.target // 2 % 2]
        for index in range(3):
            self._add(f"v{step.number}-{index}", cpu, {}, priorityClassName=objects.URGENT)

    def apart(self, step: Step) -> None:
        self._add(f"a{step.number}", "500m", {"a": "a"}, affinity=objects.apart())

    def spread(self, step: Step) -> None:
        spread = objects.spread()
        self._add(f"s{step.number}", "500m", {"s": "s"}, topologySpreadConstraints=spread)

    def tenant(self, step: Step) -> None:
        cpu = ("500m", "1")[step.target % 2]
        self._add(f"t{step.number}", cpu, {}, namespace=objects.TENANT)

    def gang(self, step: Step) -> None:
        self._gang(f"g{step.number}", MEMBERS, MEMBERS, "1")

    def part(self, step: Step) -> None:
        """A gang of which a pod never comes."""
        self._gang(f"g{step.number}", MEMBERS, MEMBERS - 1, "1")

    def crew(self, step: Step) -> None:
        """A large gang, and a node for it."""
        self._new_node(step)
        self._gang(f"c{step.number}", CREW, CREW, "500m")

    def _gang(self, name: str, needed: int, members: int, cpu: str) -> None:
        self._cluster.apply(objects.group(name, needed))
        for index in range(members):
            self._add(f"{name}-{index}", cpu, {objects.GROUP_LABEL: name})

    def delete(self, step: Step) -> None:
        chosen = _choose(self._pods(), step)
        if chosen is not None:
            self._take_back(chosen)

    def end(self, step: Step) -> None:
        chosen = _choose(self._running(), step)
        if chosen is not None:
            self.kubelet.finish(chosen.namespace, chosen.name)

    def reject(self, step: Step) -> None:
        chosen = _choose(self._running(), step)
        if chosen is not None:
            self.kubelet.reject(chosen.namespace, chosen.name)

    def touch(self, step: Step) -> None:
        """Somebody else writes to a pod."""
        chosen = _choose(self._pods(), step)
        if chosen is not None:
            change = {"metadata": {"annotations": {"touched": str(step.number)}}}
            self._patch(PODS, chosen.namespace, chosen.name, change)

    def node(self, step: Step) -> None:
        self._add_node()

    def room(self, step: Step) -> None:
        """New nodes, and urgent pods that fill them."""
        for _ in range(2):
            self._new_node(step)
        for index in range(4):
            name = f"r{step.number}-{index}"
            self._add(name, "2", {}, priorityClassName=objects.URGENT)

    def cordon(self, step: Step) -> None:
        """Close a node to new pods, or open one that is closed."""
        chosen = _choose(self._nodes(), step)
        if chosen is not None:
            change = {"spec": {"unschedulable": not chosen.spec.unschedulable}}
            self._patch(NODES, "", chosen.name, change)

    def drop(self, step: Step) -> None:
        """Take a node away; its pods go with it, when somebody finds out."""
        nodes = self._nodes()
        if len(nodes) > FEWEST_NODES:
            self._remove(NODES, "", nodes[step.target % len(nodes)].name)

    def steal(self, step: Step) -> None:
        """Somebody takes the lease, and never renews it."""
        change = {"spec": {"holderIdentity": f"thief-{step.number}"}}
        self._patch(LEASES, *self._lease, change)

    def collect_orphans(self) -> None:
        """Delete the pods of nodes that are gone, as the pod garbage collector does."""
        names = {node.name for node in self._nodes()}
        for pod in self._pods():
            if pod.spec.node_name and pod.spec.node_name not in names:
                self.deleted.add(pod.uid)
                deletion.delete_object(
                    self._cluster.registry, PODS, pod.namespace, pod.name, pod.uid, 0
                )

    def lose_patience(self) -> None:
        """Where many pods wait, users take back those that were not urgent, oldest first."""
        waiting = [pod for pod in self._pods() if not pod.spec.node_name]
        alone = [pod for pod in waiting if objects.GROUP_LABEL not in pod.labels]
        alone.sort(key=lambda pod: (pod.priority, pod.metadata.creation_timestamp, pod.name))
        for pod in alone[: max(0, len(waiting) - MOST_WAITING)]:
            self._take_back(pod)

    def open_nodes(self) -> None:
        """No node stays closed."""
        for node in self._nodes():
            if node.spec.unschedulable:
                self._patch(NODES, "", node.name, {"spec": {"unschedulable": False}})

    def _new_node(self, step: Step) -> None:
        """One more; where there are many, in place of another."""
        nodes = self._nodes()
        if len(nodes) >= MOST_NODES:
            self._remove(NODES, "", nodes[step.target % len(nodes)].name)
        self._add_node()

    def _add_node(self) -> None:
        self._cluster.add(NODES, objects.node(f"n{self._made}", NODE_CPU))
        self._made += 1

    def _add(self, name: str, cpu: str, labels: dict[str, str], **more: Any) -> None:
        self._cluster.add(PODS, objects.pod(name, cpu, labels, **more))

    def _take_back(self, pod: Pod) -> None:
        self.deleted.add(pod.uid)
        self._remove(PODS, pod.namespace, pod.name)

    def _remove(self, resource: Resource, namespace: str, name: str) -> None:
        deletion.delete_object(self._cluster.registry, resource, namespace, name, "", None)

    def _patch(self, resource: Resource, namespace: str, name: str, change: objects.Raw) -> None:
        updates.patch_object(self._cluster.registry, resource, namespace, name, change, "", "merge")

    def _nodes(self) -> list[Node]:
        return [node for node in self._cluster.objects(NODES) if isinstance(node, Node)]

    def _pods(self) -> list[Pod]:
        pods = (pod for pod in self._cluster.objects(PODS) if isinstance(pod, Pod))
        return sorted((pod for pod in pods if not pod.is_terminal), key=lambda pod: pod.name)

    def _running(self) -> list[Pod]:
        return [pod for pod in self._pods() if pod.spec.node_name and not pod.is_terminating]


def _choose(found: list[T], step: Step) -> T | None:
    return found[step.target % len(found)] if found else None
