"""The cache: nodes in kube's order, the pods on them, and assumed pods not yet seen there.

A pod is in one of three states, and moves only along these lines:

    (unknown) --assume--> ASSUMED --confirm (the watch shows it bound)--> BOUND
    ASSUMED --forget (binding failed)--> (unknown)
    (unknown) --confirm--> BOUND        BOUND --remove--> (unknown)

Pods bound to a node that is not (or no longer) known wait in `homeless` until it appears.
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
    """Region and zone, as kube-scheduler joins them; the same zone name in two regions differs."""
    region, zone = node.region, node.zone
    return f"{region}:\x00:{zone}" if region or zone else ""


class CacheError(Exception):
    """The caller broke the table of legal transitions: a bug of ours, never a user's."""


class Standing(NamedTuple):
    """Where a pod is counted, and whether that is only assumed."""

    node: str
    pod: PodInfo
    is_assumed: bool


class Checkpoint(NamedTuple):
    """What a trial has to come back to."""

    nodes: list[Callable[[], None]]
    """What brings the nodes back, the last first."""
    pods: dict[str, Standing | None]
    """Every pod that was touched, as it was before, by uid."""
    order: dict[str, list[str]]
    """The uids of the pods on every node that was touched: between equals the first decides."""


class Cache:
    """What we believe of the cluster."""

    def __init__(self, classes: type[PodClasses] = PodClasses) -> None:
        self.table = NodeTable()
        self.objects = ObjectStore()
        self.nominations = Nominator()
        self.classes = classes(self.table.resources)
        self.assumed: set[str] = set()
        self.resting: dict[str, float] = {}
        """Nodes that are left alone for now, and until when."""
        self._where: dict[str, tuple[str, PodInfo]] = {}
        self._homeless: dict[str, dict[str, PodInfo]] = {}
        self._tree = NodeTree()
        self._order: list[int] | None = None
        self._before: Checkpoint | None = None
        """How it was before the trial that is under way."""
        self._tried = 0
        """How much of what the table's logs hold was done in trials, and undone."""

    def info(self, pod: Pod) -> PodInfo:
        return self.classes.info(pod)

    def node_order(self) -> list[int]:
        """Rows in the order in which kube-scheduler would walk them."""
        if self._order is None:
            self._order = [self.table.row_of[name] for name in self._tree.names()]
        return self._order

    def arrange(self, names: Iterable[str]) -> None:
        """Walk the known nodes as if they had arrived in this order."""
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
        """Take back an assumption."""
        if pod.uid not in self.assumed:
            raise CacheError(f"pod {pod.pod.key} is not assumed")
        self._displace(pod.uid)

    def put_pod(self, pod: Pod) -> None:
        """Believe a bound pod: confirms an assumption, adds or updates."""
        info, node = self.info(pod), pod.spec.node_name
        known = self._where.get(info.uid)
        if known is not None:
            if known[0] == node and info.uses_as(known[1]) and self._confirm(known[1], info, node):
                return
            self._displace(info.uid)
        self._place(info, node)

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """Believe a bound pod that was not here before, and whose class is known."""
        if pod.uid in self._where:
            raise CacheError(f"pod {pod.pod.key} is already on {self._where[pod.uid][0]}")
        self._place(pod, node)

    def remove_pod(self, uid: str) -> PodInfo | None:
        """Stop counting a pod, however it got here."""
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
        """Count a pod on a row for the length of a trial."""
        self._place(pod, self.table.node(row).name)

    def displace(self, pod: PodInfo) -> None:
        """Stop counting a pod for the length of a trial."""
        self._displace(pod.uid)

    @property
    def in_trial(self) -> bool:
        """Whether something is to be undone yet: nobody else may look at the cache now."""
        return self._before is not None

    @property
    def moment(self) -> tuple[int, int, int]:
        """Equal as long as nothing was learnt or decided about nodes, pods on them and objects."""
        return self._logged - self._tried, self.nominations.version, self.objects.changes

    @property
    def _logged(self) -> int:
        return self.table.node_log.version + self.table.pod_log.version

    @contextmanager
    def attempted_together(self) -> Iterator[Callable[[], None]]:
        """Pods are assumed inside; whoever forgets all of them again says so with what this yields,
        and it is the same `moment` as before."""
        started = self._logged

        def undone() -> None:
            if self._before is None:
                self._tried += self._logged - started

        yield undone

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Whatever is placed, displaced, added or removed inside is undone at the end. Nests."""
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
        """Believe what is new of a pod that stays where it is and uses what it used."""
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
        """A pod is about to come to a node, or to leave it."""
        if uid not in before.pods:
            before.pods[uid] = self._standing(uid)
        if node not in before.order and (row := self.table.row_of.get(node)) is not None:
            before.order[node] = list(self.table.pods[row])

    def _standing(self, uid: str) -> Standing | None:
        found = self._where.get(uid)
        return None if found is None else Standing(*found, uid in self.assumed)

    def _return(self, uid: str, before: Standing | None) -> None:
        """Bring a pod back to where it was, unless it is there again."""
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
