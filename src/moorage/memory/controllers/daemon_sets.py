"""DaemonSets: a pod for every node that fits, pinned to it by node affinity.

A node fits if its name and labels match the pod's nodeSelector and required node affinity, and the
pod, with the tolerations that every daemon pod gets, tolerates the node's taints.
"""

from collections.abc import Iterable
from typing import Final

from moorage.api import node_selectors, taints
from moorage.api.decode import decode_object
from moorage.api.label_requirements import SelectorError
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.memory.cluster_resources import DAEMON_SETS
from moorage.memory.controllers import owned_pods, workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import NODES, PODS, Resource
from moorage.watch.api_server import Raw

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")
_REPELLING: Final = (taints.NO_SCHEDULE, taints.NO_EXECUTE)


class DaemonSetController:
    """Creates a pod for every fitting node, and deletes it from nodes that no longer fit."""

    watches = (DAEMON_SETS, NODES, PODS)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if resource == DAEMON_SETS:
            yield record.entry.key
        elif resource == NODES:
            yield from self._client.store.table(DAEMON_SETS).entries
        elif owned_pods.has_left(record):
            owner = owned_pods.owner_key(record.entry.raw)
            if owner is not None and owner[0] == DAEMON_SETS.kind:
                yield f"{owner[1]}/{owner[2]}"

    def reconcile(self, key: str) -> None:
        owner = self._client.find(DAEMON_SETS, key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return
        spec = daemon_spec(owner["spec"]["template"]["spec"])
        pod = decode_object({"metadata": {"name": "daemon"}, "spec": spec}, "Pod")
        assert isinstance(pod, Pod)
        running = self._by_node(owner)
        nodes = self._client.store.table(NODES).in_order()
        for entry in nodes:
            node = entry.view
            assert isinstance(node, Node)
            there = running.pop(node.name, [])
            if not fits(pod, node):
                self._delete(there)
            elif not any(owned_pods.is_active(each.raw) for each in there):
                self._create(owner, node.name, spec, f"DaemonSet {key}")
        self._delete(each for there in running.values() for each in there)

    def _by_node(self, owner: Raw) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self._client.pods.of(workload_template.key_of(DAEMON_SETS, owner)):
            found.setdefault(target_of(entry.raw), []).append(entry)
        return found

    def _create(self, owner: Raw, node: str, spec: Raw, whose: str) -> None:
        namespace, name = owner["metadata"]["namespace"], f"{owner['metadata']['name']}-{node}"
        number = 0
        while self._client.find(PODS, f"{namespace}/{name}") is not None:
            number += 1
            name = f"{owner['metadata']['name']}-{node}-{number}"
        pod = workload_template.pod_from(DAEMON_SETS, owner, name, spec=pinned(spec, node))
        self._client.create(PODS, pod, whose)

    def _delete(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            on_known_node = self._client.find(NODES, target_of(entry.raw)) is not None
            if owned_pods.is_active(entry.raw) and on_known_node:
                self._client.delete(PODS, entry.raw)


def fits(pod: Pod, node: Node) -> bool:
    """Whether a DaemonSet's pod should run on a node."""
    if pod.spec.node_name not in ("", node.name):
        return False
    try:
        if not node_selectors.required_affinity_matches(pod, node):
            return False
    except SelectorError:
        return False
    return taints.find_untolerated(node.spec.taints, pod.spec.tolerations, _REPELLING) is None


def daemon_spec(spec: Raw) -> Raw:
    """The template's spec with the tolerations that every daemon pod gets."""
    added = _TOLERATED + ((_NETWORK,) if spec.get("hostNetwork") else ())
    return {
        **spec,
        "tolerations": [
            *(spec.get("tolerations") or ()),
            *({"key": key, "operator": "Exists", "effect": effect} for key, effect in added),
        ],
    }


def pinned(spec: Raw, node: str) -> Raw:
    """The spec with required node affinity replaced: this node by name, and no other."""
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = spec.get("affinity") or {}
    of_nodes = {
        **(affinity.get("nodeAffinity") or {}),
        _REQUIRED: {"nodeSelectorTerms": [named]},
    }
    return {**spec, "affinity": {**affinity, "nodeAffinity": of_nodes}}


def target_of(pod: Raw) -> str:
    """The node that a daemon pod is bound to, or else pinned to."""
    if node := pod["spec"].get("nodeName"):
        return str(node)
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and len(field.get("values") or ()) == 1:
                return str(field["values"][0])
    return ""
