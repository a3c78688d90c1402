"""A ledger of disruption budgets: what victims in flight have already spent.

Between the eviction of a pod and the word of the disruption controller, a PodDisruptionBudget still
offers what was just taken from it. Here it is taken at once: the budget as it is believed allows
one disruption less and lists the pod as disrupted. An entry is struck off when the budget was
written anew after the victim was seen to be leaving, when the victim turns out to stay, or when
none of that has happened for too long.
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
    """A victim, by name, what it was taken from, and whether it was seen to be leaving."""

    __slots__ = ("leaving", "name", "since", "uid")

    def __init__(self, pod: Pod, since: float) -> None:
        self.uid = pod.uid
        self.name = pod.name
        self.since = since
        self.leaving = False


class BudgetLedger:
    """Entries by budget; `expired` counts those that were struck off only for their age."""

    def __init__(self, cache: Cache, clock: Clock, known: KnownObjects) -> None:
        self._objects = cache.objects
        self._clock = clock
        self._known = known
        self.entries: dict[str, dict[str, Entry]] = {}
        """By budget, then by the victim's uid."""
        self._alarms = Alarms()
        self.expired = 0

    def spend(self, victims: Sequence[Pod]) -> None:
        """Take victims from every budget that protects them."""
        objects, now = self._objects, self._clock.now()
        for budget in list(objects.all(PodDisruptionBudget)):
            taken = [victim for victim in victims if _protects(budget, victim)]
            for victim in taken:
                entries = self.entries.setdefault(budget.key, {})
                entries[victim.uid] = Entry(victim, now)
            if taken:
                objects.put(_without(budget, [Entry(victim, now) for victim in taken]))
                self._alarms.set(budget.key, now + LONGEST_SECONDS)

    def refund(self, victims: Sequence[Pod]) -> None:
        """These stay: what was taken for them is given back."""
        for key, entries in list(self.entries.items()):
            staying = entries.keys() & {victim.uid for victim in victims}
            for uid in staying:
                del entries[uid]
            if staying:
                self._restate(key)

    def tick(self, now: float) -> None:
        """Strike off what is too old."""
        for key in self._alarms.due(now):
            self._restate(key)
            left = self.entries.get(key, {}).values()
            if left:
                oldest = min(entry.since for entry in left)
                self._alarms.set(key, oldest + LONGEST_SECONDS)

    def next_due(self) -> float | None:
        """When the next entry is too old."""
        return self._alarms.next()

    def _restate(self, key: str) -> None:
        """Believe of a budget what was last heard, but for what is spent since."""
        heard = self._known.get(POD_DISRUPTION_BUDGETS, key)
        entries = self.entries.get(key, {})
        kept = self._keep(key, entries.values())
        if isinstance(heard, PodDisruptionBudget):
            self._objects.put(_without(heard, kept))

    def adjust(self, change: Change) -> Change:
        """A change as it is to be believed: budgets without what is spent already."""
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
        """Keep of a budget's entries these, as far as they are not too old."""
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
