"""The cache: nodes in kube's order, the pods on them, and assumed pods not yet seen there.

A pod is unknown, assumed or bound, and moves only along these lines:

    (unknown) --assume--> ASSUMED --confirm (the watch shows it bound)--> BOUND
    ASSUMED --forget (binding failed)--> (unknown)
    (unknown) --confirm--> BOUND        BOUND --remove--> (unknown)

Pods bound to a node that is not (or no longer) known are kept in `_homeless` until it appears.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import NamedTuple

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.nominator import Nominator
from moorage.cache.object_store import ObjectStore
from moorage.cache.podinfo import PodClasses, PodInfo
from moorage.cache.table import NodeTable


class NodeTree:
    """Node names by zone, zones and names in order of arrival."""

    __slots__ = ("_zones",)

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}

    def add(self, node: Node) -> None:
        self._zones.setdefault(zone_key(node), {})[node.name] = None

    def remove(self, node: Node) -> None:
        zone = self._zones.get(zone_key(node), {})
        zone.pop(node.name, None)
        if not zone:
            self._zones.pop(zone_key(node), None)

    def names(self) -> list[str]:
        rounds = zip_longest(*self._zones.values())
        return [name for name in chain.from_iterable(rounds) if name is not None]


def zone_key(node: Node) -> str:
    """Region and zone, joined as in kube-scheduler; equal zone names in two regions differ."""
    region, zone = node.region, node.zone
    return f"{region}:\x00:{zone}" if region or zone else ""


class CacheError(Exception):
    """A caller broke the states of a pod (see above): a bug of Moorage, never of a user."""


class Standing(NamedTuple):
    """The node where a pod is counted, and whether it is only assumed there."""

    node: str
    pod: PodInfo
    is_assumed: bool


class Checkpoint(NamedTuple):
    """The state that a trial returns to."""

    nodes: list[Callable[[], None]]
    """Calls that undo changes of nodes; to be called in reverse order."""
    pods: dict[str, Standing | None]
    """Uid -> state before the trial, of every pod that was touched."""
    order: dict[str, list[str]]
    """Node -> uids of its pods in order, of every node that was touched: order breaks ties."""


class Cache:
    """Nodes, pods, other objects and nominations, as the scheduler knows them."""

    def __init__(self, classes: type[PodClasses] = PodClasses) -> None:
        self.table = NodeTable()
        self.objects = ObjectStore()
        self.nominations = Nominator()
        self.classes = classes(self.table.resources)
        self.assumed: set[str] = set()
        self.resting: dict[str, float] = {}
        """Node -> time until which no pod is placed on it."""
        self._where: dict[str, tuple[str, PodInfo]] = {}
        self._homeless: dict[str, dict[str, PodInfo]] = {}
        self._tree = NodeTree()
        self._order: list[int] | None = None
        self._before: Checkpoint | None = None
        """The checkpoint of the trial under way; None outside of trials."""
        self._tried = 0
        """The number of log entries that trials wrote, doing and undoing changes."""

    def info(self, pod: Pod) -> PodInfo:
        return self.classes.info(pod)

    def node_order(self) -> list[int]:
        """Rows in the order in which kube-scheduler walks the nodes."""
        if self._order is None:
            self._order = [self.table.row_of[name] for name in self._tree.names()]
        return self._order

    def arrange(self, names: Iterable[str]) -> None:
        """Order the known nodes as if they had arrived in this order."""
        self._tree, self._order = NodeTree(), None
        for name in names:
            self._tree.add(self.table.node(self.table.row_of[name]))

    def put_node(self, node: Node) -> None:
        known = self.table.row_of.get(node.name)
        old = None if known is None else self.table.node(known)
        self._replace_in_tree(old, node)
        row = self.table.put_node(node)
        for pod in self._homeless.pop(node.name, {}).values():
            self.table.add_pod(row, pod)
        self._on_return(lambda: self.remove_node(node) if old is None else self.put_node(old))

    def remove_node(self, node: Node) -> None:
        row = self.table.row_of.get(node.name)
        if row is None:
            return
        old = self.table.node(row)
        self._tree.remove(old)
        self._order = None
        pods = self.table.remove_node(node.name)
        if pods:
            self._homeless[node.name] = pods
        self._on_return(lambda: self.put_node(old))

    def assume(self, pod: PodInfo, node: str) -> None:
        """Count a pod on a node before the API server has confirmed it."""
        if pod.uid in self._where:
            raise CacheError(f"pod {pod.pod.key} is already on {self._where[pod.uid][0]}")
        self._place(pod, node)
        self.assumed.add(pod.uid)

    def forget(self, pod: PodInfo) -> None:
        """Undo `assume`."""
        if pod.uid not in self.assumed:
            raise CacheError(f"pod {pod.pod.key} is not assumed")
        self._displace(pod.uid)

    def put_pod(self, pod: Pod) -> None:
        """Count a bound pod: confirms an assumed pod, else adds or updates it."""
        info, node = self.info(pod), pod.spec.node_name
        known = self._where.get(info.uid)
        if known is not None:
            if known[0] == node and info.uses_as(known[1]) and self._confirm(known[1], info, node):
                return
            self._displace(info.uid)
        self._place(info, node)

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """Count a bound pod that is not here yet, and whose class is known."""
        if pod.uid in self._where:
            raise CacheError(f"pod {pod.pod.key} is already on {self._where[pod.uid][0]}")
        self._place(pod, node)

    def remove_pod(self, uid: str) -> PodInfo | None:
        """Stop counting a pod, assumed or bound; None if it is unknown."""
        return self._displace(uid) if uid in self._where else None

    def node_of(self, uid: str) -> str | None:
        found = self._where.get(uid)
        return found[0] if found else None

    def pod(self, uid: str) -> PodInfo | None:
        found = self._where.get(uid)
        return found[1] if found else None

    def pods(self) -> Iterator[tuple[str, PodInfo]]:
        return iter(self._where.values())

    def place_on(self, row: int, pod: PodInfo) -> None:
        """Count a pod on a row; to be called in a trial, whose end undoes it."""
        self._place(pod, self.table.node(row).name)

    def displace(self, pod: PodInfo) -> None:
        """Stop counting a pod; to be called in a trial, whose end undoes it."""
        self._displace(pod.uid)

    @property
    def in_trial(self) -> bool:
        """Whether a trial is under way: its changes must not be read as facts."""
        return self._before is not None

    @property
    def moment(self) -> tuple[int, int, int]:
        """Versions that stay equal until nodes, the pods on them, nominations or objects change.

        Changes that a trial made and undid do not count.
        """
        return self._logged - self._tried, self.nominations.version, self.objects.changes

    @property
    def _logged(self) -> int:
        return self.table.node_log.version + self.table.pod_log.version

    @contextmanager
    def attempted_together(self) -> Iterator[Callable[[], None]]:
        """For callers that assume pods inside, and may forget all of them again.

        Such a caller must then call the yielded function: `moment` is the same again as before.
        """
        started = self._logged

        def undone() -> None:
            if self._before is None:
                self._tried += self._logged - started

        yield undone

    @contextmanager
    def trial(self) -> Iterator[None]:
        """On exit, undo every change of nodes and pods made inside. Trials may be nested."""
        outer, self._before = self._before, Checkpoint([], {}, {})
        started = self._logged
        try:
            yield
        finally:
            before, self._before = self._before, None
            for step in reversed(before.nodes):
                step()
            for uid in reversed(before.pods):
                self._return(uid, before.pods[uid])
            for node, uids in before.order.items():
                if (row := self.table.row_of.get(node)) is not None:
                    self.table.list_pods(row, uids)
            self._before = outer
            if outer is None:
                self._tried += self._logged - started

    def _place(self, pod: PodInfo, node: str) -> None:
        if self._before is not None:
            self._note(self._before, pod.uid, node)
        row = self.table.row_of.get(node)
        if row is None:
            self._homeless.setdefault(node, {})[pod.uid] = pod
        else:
            self.table.add_pod(row, pod)
        self._where[pod.uid] = (node, pod)

    def _confirm(self, old: PodInfo, new: PodInfo, node: str) -> bool:
        """Replace a pod by its new version, which is on the same node and uses the same.

        False in a trial, or if the node is unknown: then the caller must displace and place it.
        """
        row = self.table.row_of.get(node)
        if row is None or self._before is not None:
            return False
        self.table.replace_pod(row, old, new)
        del self._where[new.uid]
        self._where[new.uid] = (node, new)
        self.assumed.discard(new.uid)
        return True

    def _displace(self, uid: str) -> PodInfo:
        node, pod = self._where[uid]
        if self._before is not None:
            self._note(self._before, uid, node)
        del self._where[uid]
        self.assumed.discard(uid)
        row = self.table.row_of.get(node)
        if row is None:
            homeless = self._homeless[node]
            del homeless[uid]
            if not homeless:
                del self._homeless[node]
        else:
            self.table.remove_pod(row, pod)
        return pod

    def _note(self, before: Checkpoint, uid: str, node: str) -> None:
        """Record in the checkpoint a pod that is about to come to a node, or to leave it."""
        if uid not in before.pods:
            before.pods[uid] = self._standing(uid)
        if node not in before.order and (row := self.table.row_of.get(node)) is not None:
            before.order[node] = list(self.table.pods[row])

    def _standing(self, uid: str) -> Standing | None:
        found = self._where.get(uid)
        return None if found is None else Standing(*found, uid in self.assumed)

    def _return(self, uid: str, before: Standing | None) -> None:
        """Return a pod to its state before the trial, unless it is in that state."""
        now = self._standing(uid)
        if now == before:
            return
        if now is not None:
            self._displace(uid)
        if before is not None:
            self._place(before.pod, before.node)
            if before.is_assumed:
                self.assumed.add(uid)

    def _replace_in_tree(self, old: Node | None, new: Node) -> None:
        if old is not None and (old.zone, old.region) == (new.zone, new.region):
            return
        if old is not None:
            self._tree.remove(old)
        self._tree.add(new)
        self._order = None

    def _on_return(self, step: Callable[[], None]) -> None:
        if self._before is not None:
            self._before.nodes.append(step)
