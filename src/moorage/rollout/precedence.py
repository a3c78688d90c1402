"""Precedence: pods wait a moment for those of schedulers that go first.

Two schedulers that decide at the same time may choose the last room of the same node. A profile
that yields does not attempt a pod while a pod of a scheduler that goes first has been pending for
less than `patience` and was not found unschedulable. After that it goes on, because the other
scheduler may be down.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.framework.queued_pod import QueuedPod
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, counter
from moorage.scheduler.feature import Feature
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.version import Version
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change

UNSCHEDULABLE: Final = "Unschedulable"


class GoesFirst(NamedTuple):
    """A scheduler whose pods are waited for, and for how many seconds each."""

    scheduler: str
    patience: float


class Precedence(Feature):
    """Keeps the pending pods of those schedulers, and since when they are pending."""

    hears = ("pods",)

    def __init__(self, clock: Clock, outcome: Outcome) -> None:
        self._clock = clock
        self._outcome = outcome
        self._patience: dict[str, float] = {}
        self._waiting: dict[str, dict[str, float]] = {}
        self._yielded: Counter[tuple[str, ...]] = Counter()

    def configured(self, version: Version) -> None:
        """Take over a new configuration; the pending pods are kept."""
        given: Iterable[GoesFirst] = version.features.get(Precedence, ())
        self._patience = {each.scheduler: each.patience for each in given}
        self._waiting = {name: self._waiting.get(name, {}) for name in self._patience}

    def after(self, change: Change, resource: Resource) -> None:
        if not self._patience:
            return
        pod = change.new if isinstance(change.new, Pod) else change.old
        if not isinstance(pod, Pod) or pod.spec.scheduler_name not in self._patience:
            return
        waiting = self._waiting[pod.spec.scheduler_name]
        if isinstance(change.new, Pod) and _waits(pod):
            waiting.setdefault(pod.uid, self._clock.now())
        else:
            waiting.pop(pod.uid, None)

    def claims(self, queued: QueuedPod) -> bool:
        """Put a pod off while another scheduler goes first."""
        name = self._first(queued.info.pod.spec.scheduler_name)
        if name is None:
            return False
        self._yielded[(name,)] += 1
        self._outcome.put_back(queued, (), (), error=True)
        return True

    def families(self) -> Iterable[Family]:
        return (counter(catalogue.YIELDED, self._yielded.items()),)

    def _first(self, own: str) -> str | None:
        """A scheduler with a pod that has been pending for less than its patience.

        Pods are kept in the order in which they came: only the last can be the youngest.
        """
        now = self._clock.now()
        for name, patience in self._patience.items():
            youngest = next(reversed(self._waiting[name].values()), -math.inf)
            if name != own and now - youngest < patience:
                return name
        return None


def _waits(pod: Pod) -> bool:
    """Whether a pod may be bound at any moment: not found unschedulable, and not gated."""
    if pod.spec.node_name or pod.spec.scheduling_gates or pod.is_terminating:
        return False
    return not any(
        each.type == "PodScheduled" and each.reason == UNSCHEDULABLE
        for each in pod.status.conditions
    )
