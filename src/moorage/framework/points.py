"""Every extension point: when it is called, how often, and what each answer causes.

Scalar hooks take one node and read like the rule; the engine calls them only for nodes that no
vector plugin has refused. Vector hooks take all nodes in question at once and write into an array
that the engine owns; every built-in plugin has that form. A plugin implements one form of each
point.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.plugin import Plugin
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import NodeNames, Nominated, Rejection, Skip, Wait


class PreEnqueue(Plugin, frozen=True):
    """Keeps pods out of the active queue."""

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        """Called each time the pod would enter the active queue. A rejection gates the pod: it is
        not attempted until one of this plugin's events moves it."""
        raise NotImplementedError


class QueueSort(Plugin, frozen=True):
    """Orders the active queue. Exactly one, the same in every profile.

    A plugin whose key depends on the cluster (`self.handle.cache`) sets `resort_seconds`: the queue
    is then sorted anew that often, if nodes or the pods on them have changed.
    """

    resort_seconds: ClassVar[float] = 0.0

    def sort_key(self, queued: QueuedPod) -> Any:
        """Called when a pod enters the active queue; the smallest key is attempted first."""
        raise NotImplementedError

    def begin_sort(self) -> None:
        """Called before the queue is sorted anew: `sort_key` is called next for every active pod,
        in their present order."""


class PreFilter(Plugin, frozen=True):
    """Looks at the pod and the cluster once, before any node is filtered."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> NodeNames | Rejection | Skip | None:
        """Called once per attempt. `NodeNames` narrows the search (the engine intersects several);
        `SKIP` leaves out this plugin's Filter; a rejection refuses the pod on every node."""
        raise NotImplementedError

    def add_pod(self, cycle: Cycle, pod: Pod, added: PodInfo, node: Node) -> Rejection | None:
        """Called when a trial has put another pod on a node: bring `cycle.state` up to date.
        Plugins that read the table or its logs need not implement it."""
        return None

    def remove_pod(self, cycle: Cycle, pod: Pod, removed: PodInfo, node: Node) -> Rejection | None:
        """Called when a trial has taken a pod off a node."""
        return None


class Filter(Plugin, frozen=True):
    """Rules nodes out.

    `broken_code`: if `filter_all` writes this code for a node that no plugin before has refused,
    the attempt fails with the exception that `rejection` raises for it, even if other nodes fit.
    """

    broken_code: ClassVar[int] = 0

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        """Called for each node that no vector rule has refused. `None`: it fits."""
        raise NotImplementedError

    def filter_each(
        self, cycle: Cycle, pod: Pod, nodes: Sequence[Node]
    ) -> Sequence[Rejection | None]:
        """The answers of `filter` for these nodes. The engine calls it; do not override it."""
        return [self.filter(cycle, pod, node) for node in nodes]

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """The vector form. `out` comes zeroed, one entry per node of `nodes`; write a code above
        zero for each node that is refused. `rejection` later tells what a code means."""
        raise NotImplementedError

    def admits_all(self, cycle: Cycle, pod: Pod) -> bool:
        """Whether it is certain that no node is refused: `filter_all` is then not called. Must be
        cheap; `False` only means that the nodes must be filtered."""
        return False

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        """Whether a node that is accepted stays accepted whichever of its pods leave. If so, the
        search for victims need not ask about every pod on it. Called after the nodes were
        filtered."""
        return False

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        """What a code of `filter_all` stands for. Called once per distinct code, and only when the
        refusal is reported."""
        raise NotImplementedError


class PostFilter(Plugin, frozen=True):
    """Tries to make room when no node fits."""

    def post_filter(
        self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis
    ) -> Nominated | Rejection | None:
        """Called when no node is feasible, plugin after plugin until one answers `Nominated` with a
        node or an unresolvable rejection. The messages end the FailedScheduling text."""
        raise NotImplementedError

    def pod_group_post_filter(
        self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis
    ) -> Rejection | None:
        """Called instead of `post_filter` for each pod of a pod group that found no node, if too
        few of the group found one. Making room for groups is left to the scheduler. The rejection's
        message ends the group's message."""
        return None


class PreScore(Plugin, frozen=True):
    """Looks at the nodes that passed, before any is scored."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | Rejection | None:
        """Called once per attempt with at least two feasible nodes. `SKIP` leaves out this
        plugin's Score; a rejection is an error of the attempt."""
        raise NotImplementedError


class Score(Plugin, frozen=True):
    """Ranks the nodes that passed, from 0 to 100 after normalisation.

    `reads_scores_only`: the result of `normalize` depends on the scores alone, so that the engine
    may remember it for a score that all nodes share. `scores_in_range`: scores are always 0 to 100,
    so that the engine need not check them.
    """

    reads_scores_only: ClassVar[bool] = False
    scores_in_range: ClassVar[bool] = False

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        """Called for each feasible node."""
        raise NotImplementedError

    def score_each(self, cycle: Cycle, pod: Pod, nodes: Sequence[Node]) -> Sequence[int]:
        """The answers of `score` for these nodes. The engine calls it; do not override it."""
        return [self.score(cycle, pod, node) for node in nodes]

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        """The vector form. `out` comes zeroed, one entry per node of `nodes`."""
        raise NotImplementedError

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        """Called once per attempt with the scores of all feasible nodes; bring them into 0..100
        in place. A score outside that range is an error."""


class Reserve(Plugin, frozen=True):
    """Books resources that the node table does not count, once a node is chosen."""

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        """Called once, when the pod is assumed. A rejection undoes the assumption."""
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        """Called if `reserve` or anything after it fails, in reverse order. Must not fail, and must
        be idempotent."""


class Permit(Plugin, frozen=True):
    """The last word before binding: now, never, or later."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        """Called once per placement. `Wait` holds the pod (still assumed) until it is allowed,
        rejected, or the time is over."""
        raise NotImplementedError


class PreBind(Plugin, frozen=True):
    """Prepares what the pod needs on its node.

    `allow_parallel`: adjacent plugins that set it run at the same time.
    """

    allow_parallel: ClassVar[bool] = False

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        """Called once, before waiting. `SKIP`: there is nothing for `pre_bind` to do."""
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        """Called in the binding task; may take its time. Cancelled if a plugin that runs at the
        same time fails or refuses the pod."""
        raise NotImplementedError


class Bind(Plugin, frozen=True):
    """Writes the decision to the API server."""

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        """Called in configured order until one does not skip. Raises when binding failed."""
        raise NotImplementedError


class PostBind(Plugin, frozen=True):
    """Is called after a pod was bound."""

    def post_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        """Called after the bind; nothing depends on the outcome."""
        raise NotImplementedError


POINTS: dict[str, type[Plugin]] = {
    "preEnqueue": PreEnqueue,
    "queueSort": QueueSort,
    "preFilter": PreFilter,
    "filter": Filter,
    "postFilter": PostFilter,
    "preScore": PreScore,
    "score": Score,
    "reserve": Reserve,
    "permit": Permit,
    "preBind": PreBind,
    "bind": Bind,
    "postBind": PostBind,
}
"""Extension points by their name in KubeSchedulerConfiguration."""


def points_of(plugin: type[Plugin]) -> frozenset[str]:
    return frozenset(name for name, point in POINTS.items() if issubclass(plugin, point))


def is_vector(plugin: Plugin, hook: str) -> bool:
    """Whether a Filter or Score plugin implements the vector form."""
    base = Filter if hook == "filter_all" else Score
    return getattr(type(plugin), hook) is not getattr(base, hook)
