"""Facts of a node's object: its zone, its pool, whether it is ready and accepts pods."""

from typing import Final, NamedTuple

from moorage.api.node import Node

POOL_LABELS: Final = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "node-pool",
    "nodepool",
    "pool",
    "node.kubernetes.io/instance-type",
)
"""Labels that name a node's pool; the first that a node has counts."""


class NodeFacts(NamedTuple):
    """The facts of a node's object that are shown."""

    name: str
    zone: str
    pool: str
    ready: bool
    """Whether the kubelet reports it ready, and it is not cordoned."""
    tainted: bool
    """Whether it repels pods without tolerations."""


NO_NODE: Final = NodeFacts("", "", "", False, False)


def facts_of(node: Node) -> NodeFacts:
    """The facts of a node's object."""
    cordoned = node.spec.unschedulable
    repels = cordoned or any(taint.effect != "PreferNoSchedule" for taint in node.taints)
    ready = is_ready(node) and not cordoned
    return NodeFacts(node.name, node.zone, pool_of(node), ready, repels)


def pool_of(node: Node) -> str:
    """The pool of a node; empty if it has no known label."""
    labels = node.labels
    return next((labels[key] for key in POOL_LABELS if key in labels), "")


def is_ready(node: Node) -> bool:
    """Whether the kubelet reports it ready; a node without a report counts as ready."""
    told = (each.status for each in node.status.conditions if each.type == "Ready")
    return next(told, "True") == "True"
