"""A ledger of disruption budgets: what victims in flight have already spent.

Between the eviction of a pod and the word of the disruption controller, a PodDisruptionBudget still
offers what was just taken from it. Here it is taken at once: the budget as it is believed allows
one disruption less and lists the pod as disrupted. An entry is struck off when the budget was
written anew after the victim was seen to be leaving, or when that has not happened for too long.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from moorage.api import selectors
from moorage.api.pod import Pod
from moorage.api.policy import PodDisruptionBudget
from moorage.api.selectors import SelectorError
from moorage.watch.reflector import Change

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

LONGEST_SECONDS: Final = 60.0


class Entry:
    """A victim, by name, what it was taken from, and whether it was seen to be leaving."""

    __slots__ = ("leaving", "name", "since", "uid")

    def __init__(self, pod: Pod, since: float) -> None:
        self.uid = pod.uid
        self.name = pod.name
        self.since = since
        self.leaving = False


class Ledger:
    """Entries by budget."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self._entries: dict[str, dict[str, Entry]] = {}

    def spend(self, victims: list[Pod]) -> None:
        """Take victims from every budget that protects them."""
        objects, now = self._desk.cache.objects, self._desk.clock.now()
        for budget in list(objects.all(PodDisruptionBudget)):
            taken = [victim for victim in victims if _protects(budget, victim)]
            for victim in taken:
                entries = self._entries.setdefault(budget.key, {})
                entries[victim.uid] = Entry(victim, now)
            if taken:
                objects.put(_without(budget, [Entry(victim, now) for victim in taken]))

    def adjust(self, change: Change) -> Change:
        """A change as it is to be believed: budgets without what is spent already."""
        sample = change.new if change.new is not None else change.old
        if isinstance(sample, Pod):
            if self._entries and (change.new is None or sample.is_terminating):
                self._leaves(sample.uid)
        elif isinstance(sample, PodDisruptionBudget):
            if change.new is None:
                self._entries.pop(sample.key, None)
            elif sample.key in self._entries:
                return msgspec.structs.replace(change, new=self._adjusted(sample))
        return change

    def _adjusted(self, budget: PodDisruptionBudget) -> PodDisruptionBudget:
        now, entries = self._desk.clock.now(), self._entries[budget.key]
        kept = {
            uid: entry
            for uid, entry in entries.items()
            if not entry.leaving and now - entry.since < LONGEST_SECONDS
        }
        if kept:
            self._entries[budget.key] = kept
        else:
            del self._entries[budget.key]
        return _without(budget, list(kept.values()))

    def _leaves(self, uid: str) -> None:
        for entries in self._entries.values():
            entry = entries.get(uid)
            if entry is not None:
                entry.leaving = True

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))


def _protects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.namespace != pod.namespace or pod.name in budget.status.disrupted_pods:
        return False
    try:
        selector = selectors.compile(budget.spec.selector)
    except SelectorError:
        return False
    return bool(selector.requirements) and selector.matches(pod.labels)


def _without(budget: PodDisruptionBudget, taken: list[Entry]) -> PodDisruptionBudget:
    fresh = [entry for entry in taken if entry.name not in budget.status.disrupted_pods]
    status = msgspec.structs.replace(
        budget.status,
        disruptions_allowed=budget.status.disruptions_allowed - len(fresh),
        disrupted_pods={**budget.status.disrupted_pods, **{entry.name: "" for entry in fresh}},
    )
    return msgspec.structs.replace(budget, status=status)
