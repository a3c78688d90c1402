"""The names of `moorage` itself: what a plugin author imports."""

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature, PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Keyed, Resource
from moorage.framework.plugin import Plugin
from moorage.framework.points import (
    Bind,
    Filter,
    Permit,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reserve,
    Score,
)
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import (
    MAX_SCORE,
    MIN_SCORE,
    SKIP,
    NodeNames,
    Nominated,
    Rejection,
    Skip,
    Wait,
    pending,
    unresolvable,
    unschedulable,
)

__all__ = [
    "MAX_SCORE",
    "MIN_SCORE",
    "SKIP",
    "Action",
    "Bind",
    "ClusterEvent",
    "Cycle",
    "Depends",
    "Diagnosis",
    "EventHint",
    "Feature",
    "Filter",
    "Hint",
    "Keyed",
    "Node",
    "NodeNames",
    "Nodes",
    "Nominated",
    "Permit",
    "Plugin",
    "Pod",
    "PodInfo",
    "PostBind",
    "PostFilter",
    "PreBind",
    "PreEnqueue",
    "PreFilter",
    "PreScore",
    "QueueSort",
    "QueuedPod",
    "Rejection",
    "Reserve",
    "Resource",
    "Score",
    "Skip",
    "Wait",
    "pending",
    "unresolvable",
    "unschedulable",
]
