"""Sets of pods counted together: pods with equal labels, and pods with the same affinity term.

There are two kinds: pods of equal namespace and labels, and pods that carry one affinity term. A
set keeps its rows sparsely, so that its cost is proportional to its pods. Tallies sum up sets over
all rows, for the plugins that ask.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping

from moorage.api.label_requirements import IN
from moorage.cache.affinity_terms import AffinityTerm
from moorage.cache.pod_selection import PodSelection
from moorage.cache.topology_counts import Tally


class PodSet:
    """Pods that are counted together, and the tallies that add them up.

    `rows` maps a row to the number of pods there; `tallies` holds (tally, weight per pod).
    """

    __slots__ = ("rows", "tallies")

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.tallies: list[tuple[Tally, int]] = []

    def add(self, row: int, amount: int) -> None:
        left = self.rows.get(row, 0) + amount
        if left:
            self.rows[row] = left
        else:
            del self.rows[row]
        for tally, weight in self.tallies:
            tally.add(row, amount * weight)

    def join(self, tally: Tally, weight: int = 1) -> None:
        """Add the set to a tally, with its present pods and all later changes."""
        self.tallies.append((tally, weight))
        tally.sources.add(self)
        for row, amount in self.rows.items():
            tally.add(row, amount * weight)

    def leave(self, tally: Tally) -> None:
        """Stop updating a tally; what was added to it stays."""
        tally.sources.discard(self)
        self.tallies = [entry for entry in self.tallies if entry[0] is not tally]


class LabelGroup(PodSet):
    """Pods of one namespace with equal labels; `dying` separates those being deleted."""

    __slots__ = ("dying", "labels", "namespace")

    def __init__(self, namespace: str, labels: Mapping[str, str], dying: bool) -> None:
        super().__init__()
        self.namespace = namespace
        self.labels = labels
        self.dying = dying


class TermKind(enum.Enum):
    """In which way pods carry a term."""

    AFFINITY = "required affinity"
    ANTI_AFFINITY = "required anti-affinity"
    PREFERENCE = "preferred affinity or, with a negative weight, anti-affinity"


class CarriedTerm(PodSet):
    """Pods that carry the same affinity term in the same way."""

    __slots__ = ("how", "term", "weight")

    def __init__(self, how: TermKind, term: AffinityTerm, weight: int) -> None:
        super().__init__()
        self.how = how
        self.term = term
        self.weight = weight


_KEYS_INDEXED = 32
"""The most label keys that are indexed; a selection by another key looks at all groups."""

_Key = tuple[frozenset[tuple[str, str]], bool]
_ByValue = dict[str, dict[LabelGroup, None]]


class LabelGroupIndex:
    """All label groups; `possible` finds those that a selection may select."""

    __slots__ = ("_by_key", "_groups")

    def __init__(self) -> None:
        self._groups: dict[str, dict[_Key, LabelGroup]] = {}
        self._by_key: dict[str, _ByValue] = {}

    def __iter__(self) -> Iterator[LabelGroup]:
        for groups in self._groups.values():
            yield from groups.values()

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def get(self, namespace: str, labels: dict[str, str], dying: bool) -> LabelGroup | None:
        groups = self._groups.get(namespace)
        return groups.get((frozenset(labels.items()), dying)) if groups else None

    def add(self, group: LabelGroup) -> None:
        key = (frozenset(group.labels.items()), group.dying)
        self._groups.setdefault(group.namespace, {})[key] = group
        for label, by_value in self._by_key.items():
            _file(by_value, label, group)

    def possible(self, selection: PodSelection) -> Iterator[LabelGroup]:
        """Every group that the selection may select, and some that it does not; none twice."""
        for key, operator, values in selection.requirements:
            if operator == IN and (key in self._by_key or len(self._by_key) < _KEYS_INDEXED):
                by_value = self._values_of(key)
                for value in values:
                    yield from by_value.get(value, ())
                return
        for namespace in self._groups if selection.namespaces is None else selection.namespaces:
            yield from self._groups.get(namespace, {}).values()

    def replace(self, groups: Iterable[LabelGroup]) -> None:
        """Replace all groups by these."""
        self._groups, self._by_key = {}, {}
        for group in groups:
            self.add(group)

    def _values_of(self, key: str) -> _ByValue:
        by_value = self._by_key.get(key)
        if by_value is None:
            by_value = self._by_key[key] = {}
            for group in self:
                _file(by_value, key, group)
        return by_value


def _file(by_value: _ByValue, label: str, group: LabelGroup) -> None:
    value = group.labels.get(label)
    if value is not None:
        by_value.setdefault(value, {})[group] = None
