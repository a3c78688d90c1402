"""A ledger of disruption budgets: what victims in flight have already spent.

After the eviction of a pod, a PodDisruptionBudget still allows the same number of disruptions until
the disruption controller updates it. The ledger spends the disruption at once: the cached budget
allows one disruption less and lists the pod as disrupted.

An entry is dropped

1. when the budget is updated after the victim was seen to be leaving,
2. when the victim turns out to stay, or
3. after `LONGEST_SECONDS`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from moorage.api import selectors
from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.pod import Pod
from moorage.api.selectors import SelectorError
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.intake import KnownObjects
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS
from moorage.watch.reflector import Change

LONGEST_SECONDS: Final = 60.0


class Entry:
    """A victim by uid and name, when it was spent, and whether it was seen to be leaving."""

    __slots__ = ("leaving", "name", "since", "uid")

    def __init__(self, pod: Pod, since: float) -> None:
        self.uid = pod.uid
        self.name = pod.name
        self.since = since
        self.leaving = False


class BudgetLedger:
    """Entries by budget; `expired` counts those that were dropped only because of their age."""

    def __init__(self, cache: Cache, clock: Clock, known: KnownObjects) -> None:
        self._objects = cache.objects
        self._clock = clock
        self._known = known
        self.entries: dict[str, dict[str, Entry]] = {}
        """Budget key -> victim's uid -> entry."""
        self._alarms = Alarms()
        self.expired = 0

    def spend(self, victims: Sequence[Pod]) -> None:
        """Spend one disruption per victim of every budget that protects it."""
        objects, now = self._objects, self._clock.now()
        for budget in list(objects.all(PodDisruptionBudget)):
            taken = [victim for victim in victims if _protects(budget, victim)]
            for victim in taken:
                entries = self.entries.setdefault(budget.key, {})
                entries[victim.uid] = Entry(victim, now)
            if taken:
                objects.put(_without(budget, [Entry(victim, now) for victim in taken]))
                if budget.key not in self._alarms:
                    self._alarms.set(budget.key, now + LONGEST_SECONDS)

    def refund(self, victims: Sequence[Pod]) -> None:
        """Give back the disruptions of victims that stay."""
        for key, entries in list(self.entries.items()):
            staying = entries.keys() & {victim.uid for victim in victims}
            for uid in staying:
                del entries[uid]
            if staying:
                self._restate(key)

    def tick(self, now: float) -> None:
        """Drop entries that are too old."""
        for key in self._alarms.due(now):
            self._restate(key)
            left = self.entries.get(key, {}).values()
            if left:
                oldest = min(entry.since for entry in left)
                self._alarms.set(key, oldest + LONGEST_SECONDS)

    def next_due(self) -> float | None:
        """When the next entry becomes too old."""
        return self._alarms.next()

    def _restate(self, key: str) -> None:
        """Put the budget in the cache as last reported, less the entries that are kept."""
        heard = self._known.get(POD_DISRUPTION_BUDGETS, key)
        entries = self.entries.get(key, {})
        kept = self._keep(key, entries.values())
        if isinstance(heard, PodDisruptionBudget):
            self._objects.put(_without(heard, kept))

    def adjust(self, change: Change) -> Change:
        """The change with budgets less what is spent; notes which victims are leaving."""
        sample = change.new if change.new is not None else change.old
        if isinstance(sample, Pod):
            if change.new is None or sample.is_terminating:
                self._leaves(sample.uid)
        elif isinstance(sample, PodDisruptionBudget):
            if change.new is None:
                self.entries.pop(sample.key, None)
                self._alarms.clear(sample.key)
            elif sample.key in self.entries:
                return msgspec.structs.replace(change, new=self._adjusted(sample))
        return change

    def _adjusted(self, budget: PodDisruptionBudget) -> PodDisruptionBudget:
        entries = self.entries[budget.key].values()
        return _without(budget, self._keep(budget.key, (e for e in entries if not e.leaving)))

    def _keep(self, key: str, entries: Iterable[Entry]) -> list[Entry]:
        """Keep only these entries of a budget, and of them only those that are not too old."""
        now, these = self._clock.now(), list(entries)
        kept = [entry for entry in these if now - entry.since < LONGEST_SECONDS]
        self.expired += len(these) - len(kept)
        if kept:
            self.entries[key] = {entry.uid: entry for entry in kept}
        else:
            self.entries.pop(key, None)
            self._alarms.clear(key)
        return kept

    def _leaves(self, uid: str) -> None:
        for entries in self.entries.values():
            entry = entries.get(uid)
            if entry is not None:
                entry.leaving = True

    def __len__(self) -> int:
        return sum(map(len, self.entries.values()))


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
