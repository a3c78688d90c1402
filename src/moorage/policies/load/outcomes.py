"""Outcomes of pods by namespace: attempts, waiting, cost, latency, and losses.

A pod is lost when its kubelet rejects it, when it fails or is evicted, and each time one of its
containers restarts. An API server that is asked for unfinished pods reports a failed pod as
deleted, with its last unfinished state. So a pod that disappears without having been deleted counts
as lost if its controller never lets it finish. Only pods that were recorded when they were placed
count. A loss counts in the window in which the pod was placed, and so against the strategy that
placed it.
"""

import math
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from moorage.api.pod import Pod

OUTCOMES: Final = "outcomes"
"""The key of a profile's `Outcomes` in the state that its plugins share."""

_REMEMBERED_PODS: Final = 50_000
_FADES: Final = 0.9
"""The counts of each kind of node are multiplied by this when the namespace is judged."""
_DISRUPTED: Final = "DisruptionTarget"
_PREEMPTED: Final = "PreemptionByScheduler"
_NEVER_FINISH: Final = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")

NodeKind = Hashable
"""A key for nodes that are alike, such as the spot instances of one type."""


class Window:
    """The outcomes of the pods that were placed since a namespace was last judged."""

    __slots__ = (
        "attempts",
        "cost",
        "latency",
        "located",
        "lost",
        "placed",
        "priced",
        "since",
        "waited",
    )

    def __init__(self) -> None:
        self.since = math.inf
        self.attempts = self.placed = self.lost = self.priced = self.located = 0
        self.waited = self.cost = self.latency = 0.0

    @property
    def success_rate(self) -> float:
        """The share of attempts that placed a pod."""
        return self.placed / self.attempts if self.attempts else math.nan

    @property
    def wait_seconds(self) -> float:
        return self.waited / self.placed if self.placed else math.nan

    @property
    def loss_rate(self) -> float:
        """Losses per placed pod."""
        return self.lost / self.placed if self.placed else math.nan

    @property
    def pod_cost(self) -> float:
        """The mean cost of a pod per hour."""
        return self.cost / self.priced if self.priced else math.nan

    @property
    def latency_ms(self) -> float:
        return self.latency / self.located if self.located else math.nan


class _Placed(NamedTuple):
    namespace: str
    kind: NodeKind
    window: Window
    waited: float
    cost: float
    latency: float


class Outcomes:
    """The outcomes of all pods; `see` gets every change of a pod."""

    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}
        self._placed: OrderedDict[str, _Placed] = OrderedDict()
        self._kinds: dict[str, dict[NodeKind, list[float]]] = {}

    def attempted(self, namespace: str) -> None:
        """An attempt at a pod of the namespace has ended, with any result."""
        self.window(namespace).attempts += 1

    def placed(
        self,
        pod: Pod,
        kind: NodeKind,
        *,
        now: float,
        waited: float,
        cost: float,
        latency: float = math.nan,
    ) -> None:
        """A pod was placed on a node of this kind."""
        window = self.window(pod.namespace)
        window.since = min(window.since, now)
        found = _Placed(pod.namespace, kind, window, max(waited, 0.0), cost, latency)
        self._count_placed(found, 1)
        self._placed[pod.uid] = found
        if len(self._placed) > _REMEMBERED_PODS:
            self._placed.popitem(last=False)

    def taken_back(self, pod: Pod) -> None:
        """A placed pod was not bound after all."""
        found = self._placed.pop(pod.uid, None)
        if found is not None:
            self._count_placed(found, -1)

    def _count_placed(self, found: _Placed, sign: int) -> None:
        window = found.window
        window.placed += sign
        window.waited += sign * found.waited
        if not math.isnan(found.cost):
            window.cost += sign * found.cost
            window.priced += sign
        if not math.isnan(found.latency):
            window.latency += sign * found.latency
            window.located += sign
        tally = self._tally(found.namespace, found.kind)
        tally[0] = max(tally[0] + sign, 0.0)

    def see(self, old: Pod | None, new: Pod | None) -> None:
        """Count the losses in a change of a pod."""
        if new is not None:
            self._count(self._placed.get(new.uid), count_losses(old, new))
        elif old is not None:
            self._count(self._placed.pop(old.uid, None), int(has_vanished(old)))

    def _count(self, found: _Placed | None, losses: int) -> None:
        if found is not None:
            found.window.lost += losses
            self._tally(found.namespace, found.kind)[1] += losses

    def window(self, namespace: str) -> Window:
        """The outcomes of the pods that were placed since the namespace was last judged."""
        return self._windows.setdefault(namespace, Window())

    def close_window(self, namespace: str) -> None:
        """Start a new window; older counts by kind of node fade a little."""
        self._windows[namespace] = Window()
        for tally in self._kinds.get(namespace, {}).values():
            tally[0] *= _FADES
            tally[1] *= _FADES

    def loss_rates(self, namespace: str) -> dict[NodeKind, float]:
        """Losses per placed pod of a namespace, by kind of node. Each kind counts one more pod,
        without a loss, so that its first loss does not weigh too much."""
        kinds = self._kinds.get(namespace, {})
        return {kind: lost / (placed + 1.0) for kind, (placed, lost) in kinds.items()}

    def _tally(self, namespace: str, kind: NodeKind) -> list[float]:
        return self._kinds.setdefault(namespace, {}).setdefault(kind, [0.0, 0.0])


def outcomes(shared: dict[str, Any]) -> Outcomes:
    """The outcomes of a profile, created on first use."""
    found: Outcomes = shared.setdefault(OUTCOMES, Outcomes())
    return found


def count_losses(old: Pod | None, new: Pod) -> int:
    """How many losses a change of a pod shows."""
    failed = new.status.phase == "Failed" and (old is None or old.status.phase != "Failed")
    evicted = _is_disrupted(new) and (old is None or not _is_disrupted(old))
    again = _restarts(new) - (0 if old is None else _restarts(old))
    return max(again, 0) + (failed or evicted)


def was_evicted(old: Pod | None, new: Pod | None) -> bool:
    """Whether a change shows that a pod was stopped before it finished. Preemption does not count:
    it reports its victims itself."""
    if new is None:
        return old is not None and has_vanished(old)
    if any(each.type == _DISRUPTED and each.reason == _PREEMPTED for each in new.status.conditions):
        return False
    before = old is not None and (_is_disrupted(old) or old.status.phase == "Failed")
    return not before and (_is_disrupted(new) or new.status.phase == "Failed")


def has_vanished(old: Pod) -> bool:
    """Whether a deleted pod was neither asked to terminate nor able to finish."""
    owner = old.owner
    serves = owner is not None and owner.kind in _NEVER_FINISH
    return serves and not old.is_terminating and not old.is_terminal and not _is_disrupted(old)


def _is_disrupted(pod: Pod) -> bool:
    return any(each.type == _DISRUPTED and each.status == "True" for each in pod.status.conditions)


def _restarts(pod: Pod) -> int:
    return sum(status.restart_count for status in pod.status.container_statuses)
