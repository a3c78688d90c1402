"""NodeDeclaredFeatures: a node must declare the kubelet features that the pod needs."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod, PodSpec
from moorage.cache.column_cache import Depends
from moorage.cache.follower import Follower
from moorage.cache.interner import Interner
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable

UNSATISFIED: Final = "node(s) didn't match Pod's required features"

RESTART_ALL: Final = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS: Final = "UserNamespacesHostNetworkSupport"
BIND_MOUNT_OPTIONS: Final = "VolumeBindMountOptions"

REGISTERED: Final = (
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "InPlacePodVerticalScalingMemoryBackedVolumes",
    RESTART_ALL,
    HOST_NETWORK_USERS,
    BIND_MOUNT_OPTIONS,
)
"""The features that kube-scheduler knows, sorted."""


def _restarts_all(spec: PodSpec) -> bool:
    return any(
        rule.action == "RestartAllContainers"
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    )


def _maps_users_on_host_network(spec: PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


def _sets_mount_options(spec: PodSpec) -> bool:
    return any(
        mount.bind_mount_options
        for container in (*spec.containers, *spec.init_containers)
        for mount in container.volume_mounts
    )


_NEEDED_BY: Final[dict[str, Callable[[PodSpec], bool]]] = {
    RESTART_ALL: _restarts_all,
    HOST_NETWORK_USERS: _maps_users_on_host_network,
    BIND_MOUNT_OPTIONS: _sets_mount_options,
}


def required_features(pod: Pod) -> frozenset[str]:
    """The features without which the pod cannot run."""
    return frozenset(name for name, needs in _NEEDED_BY.items() if needs(pod.spec))


@lru_cache(maxsize=1024)
def declared_features(names: tuple[str, ...]) -> frozenset[str]:
    """The registered features among those a node declares.

    Nodes declare them in sorted order. As in kube-scheduler, both lists are merged in one pass, so
    that a name out of order is skipped.
    """
    found, known = set(), iter(REGISTERED)
    feature = next(known, None)
    for name in names:
        while feature is not None and feature < name:
            feature = next(known, None)
        if name == feature:
            found.add(name)
            feature = next(known, None)
    return frozenset(found)


class FeatureSets:
    """The set of declared features of each row's node, by id.  ids: int32 (row)."""

    def __init__(self) -> None:
        self.sets: Interner[frozenset[str]] = Interner([frozenset()])
        self.ids: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._nodes: Follower[int] = Follower()

    def catch_up(self, table: NodeTable) -> None:
        if not self._nodes.is_behind(table.node_log):
            return
        missing = len(table.alive) - len(self.ids)
        self.ids = np.concatenate((self.ids, np.zeros(missing, dtype=np.int32)))
        self._nodes.apply(
            table.node_log, lambda: range(table.rows), lambda row: self._put(row, table.nodes[row])
        )

    def _put(self, row: int, node: Node | None) -> None:
        names = node.status.declared_features if node is not None else ()
        self.ids[row] = self.sets.intern(declared_features(names))


class NodeDeclaredFeatures(PreFilter, Filter, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    depends = Depends.NODE
    needs: ClassVar[Needs] = {"filter": "preFilter"}

    def concerns(self) -> int:
        return Feature.KUBELET

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        return None if _required_of_incoming(cycle) else SKIP

    def sign(self, cycle: Cycle) -> Hashable:
        return _required_of_incoming(cycle)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        features: FeatureSets = cycle.shared.setdefault("NodeDeclaredFeatures", FeatureSets())
        features.catch_up(cycle.table)
        needed = _required_of_incoming(cycle)
        lacking = np.array([not needed <= have for have in features.sets.values])
        out[lacking[features.ids[nodes.rows]]] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(UNSATISFIED)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE)
        return EventHint(node, after_node_change, per_spec=True), EventHint(pod, after_pod_update)


def _required_of_incoming(cycle: Cycle) -> frozenset[str]:
    memo = cycle.incoming.cls.memo
    if "NodeDeclaredFeatures" not in memo:
        memo["NodeDeclaredFeatures"] = required_features(cycle.pod)
    found: frozenset[str] = memo["NodeDeclaredFeatures"]
    return found


def after_node_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    unchanged = old is not None and old.status.declared_features == new.status.declared_features
    return Hint.SKIP if unchanged else Hint.QUEUE


def after_pod_update(pod: Pod, old: Pod, new: Pod) -> Hint:
    return Hint.SKIP if required_features(old) == required_features(new) else Hint.QUEUE
