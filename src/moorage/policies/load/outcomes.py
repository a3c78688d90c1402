"""What became of pods, by namespace: attempts, waiting, cost, latency, and those that were lost.

A pod is lost when its kubelet rejects it, when it fails or is evicted, and each time one of its
containers starts anew. An API server that is asked for unfinished pods shows one that has failed as
deleted, and as it was before: a pod whose controller never lets it finish, and that vanishes
without having been told to go, was lost. Only pods that were noted when they were placed count, and
a loss counts where the pod was placed: in the window, and so against the strategy, that placed it.
"""

import math
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from moorage.api.pod import Pod

OUTCOMES: Final = "outcomes"
"""Where a profile keeps its `Outcomes`, in what plugins share."""

_REMEMBERED_PODS: Final = 50_000
_FADES: Final = 0.9
"""What remains of a kind's past, each time its namespace is judged."""
_DISRUPTED: Final = "DisruptionTarget"
_PREEMPTED: Final = "PreemptionByScheduler"
_NEVER_FINISH: Final = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")

NodeKind = Hashable
"""Nodes that are alike, such as the spot instances of one type."""


class Window:
    """What became of the pods that were placed since a namespace was last judged."""

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
        """The part of the attempts that placed a pod."""
        return self.placed / self.attempts if self.attempts else math.nan

    @property
    def wait_seconds(self) -> float:
        return self.waited / self.placed if self.placed else math.nan

    @property
    def loss_rate(self) -> float:
        """How often pods were lost, for each that was placed."""
        return self.lost / self.placed if self.placed else math.nan

    @property
    def pod_cost(self) -> float:
        """What a pod costs per hour, on the mean."""
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
    """Everything that became of pods; `see` hears of every change of a pod."""

    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}
        self._placed: OrderedDict[str, _Placed] = OrderedDict()
        self._kinds: dict[str, dict[NodeKind, list[float]]] = {}

    def attempted(self, namespace: str) -> None:
        """An attempt at a pod of the namespace has ended, however it did."""
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
        """A pod was placed, on a node of this kind."""
        window = self.window(pod.namespace)
        window.since = min(window.since, now)
        found = _Placed(pod.namespace, kind, window, max(waited, 0.0), cost, latency)
        self._count_placed(found, 1)
        self._placed[pod.uid] = found
        if len(self._placed) > _REMEMBERED_PODS:
            self._placed.popitem(last=False)

    def taken_back(self, pod: Pod) -> None:
        """A pod that was placed is not bound after all."""
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
        """Hear of a change of a pod."""
        if new is not None:
            self._count(self._placed.get(new.uid), count_losses(old, new))
        elif old is not None:
            self._count(self._placed.pop(old.uid, None), int(has_vanished(old)))

    def _count(self, found: _Placed | None, losses: int) -> None:
        if found is not None:
            found.window.lost += losses
            self._tally(found.namespace, found.kind)[1] += losses

    def window(self, namespace: str) -> Window:
        """What became of the pods that were placed since the namespace was last judged."""
        return self._windows.setdefault(namespace, Window())

    def close_window(self, namespace: str) -> None:
        """Judge anew from now on; what is known of kinds of nodes fades a little."""
        self._windows[namespace] = Window()
        for tally in self._kinds.get(namespace, {}).values():
            tally[0] *= _FADES
            tally[1] *= _FADES

    def loss_rates(self, namespace: str) -> dict[NodeKind, float]:
        """How often pods of a namespace were lost, by kind of node; one loss in two to begin with
        would be rash, so each kind begins with one pod that was not lost."""
        kinds = self._kinds.get(namespace, {})
        return {kind: lost / (placed + 1.0) for kind, (placed, lost) in kinds.items()}

    def _tally(self, namespace: str, kind: NodeKind) -> list[float]:
        return self._kinds.setdefault(namespace, {}).setdefault(kind, [0.0, 0.0])


def outcomes(shared: dict[str, Any]) -> Outcomes:
    """The outcomes of a profile, made when they are first asked for."""
    found: Outcomes = shared.setdefault(OUTCOMES, Outcomes())
    return found


def count_losses(old: Pod | None, new: Pod) -> int:
    """How often a pod was lost by a change of it."""
    failed = new.status.phase == "Failed" and (old is None or old.status.phase != "Failed")
    evicted = _is_disrupted(new) and (old is None or not _is_disrupted(old))
    again = _restarts(new) - (0 if old is None else _restarts(old))
    return max(again, 0) + (failed or evicted)


def was_evicted(old: Pod | None, new: Pod | None) -> bool:
    """Whether a pod was stopped before its work was done, by a change of it, and not for another
    pod: who preempts answers for that."""
    if new is None:
        return old is not None and has_vanished(old)
    if any(each.type == _DISRUPTED and each.reason == _PREEMPTED for each in new.status.conditions):
        return False
    before = old is not None and (_is_disrupted(old) or old.status.phase == "Failed")
    return not before and (_is_disrupted(new) or new.status.phase == "Failed")


def has_vanished(old: Pod) -> bool:
    """Whether a pod that is gone was neither told to go nor able to finish."""
    owner = old.owner
    serves = owner is not None and owner.kind in _NEVER_FINISH
    return serves and not old.is_terminating and not old.is_terminal and not _is_disrupted(old)


def _is_disrupted(pod: Pod) -> bool:
    return any(each.type == _DISRUPTED and each.status == "True" for each in pod.status.conditions)


def _restarts(pod: Pod) -> int:
    return sum(status.restart_count for status in pod.status.container_statuses)
