"""Label groups by namespace, and by the values of the label keys that selections ask for."""

from collections.abc import Iterable, Iterator

from moorage.api.requirements import IN
from moorage.cache.populations import LabelGroup
from moorage.cache.selections import Selection

_KEYS_INDEXED = 32
"""Label keys by which groups are found at most; selections by other keys look at all groups."""

_Key = tuple[frozenset[tuple[str, str]], bool]
_ByValue = dict[str, dict[LabelGroup, None]]


class GroupIndex:
    """Every label group there is; `possible` finds those that a selection may select."""

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

    def possible(self, selection: Selection) -> Iterator[LabelGroup]:
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
        """Hold these groups and no others."""
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
