"""Selections of pods by namespace and labels, and an index of selectors by required labels."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import msgspec

from moorage.api.label_requirements import IN, Requirement
from moorage.api.selectors import Selector

T = TypeVar("T")


class Clause(NamedTuple):
    """Pods of some namespaces (None for all) whose labels a selector selects."""

    namespaces: frozenset[str] | None
    selector: Selector

    def holds(self, namespace: str, labels: Mapping[str, str]) -> bool:
        known = self.namespaces is None or namespace in self.namespaces
        return known and self.selector.matches(labels)


class PodSelection(msgspec.Struct, frozen=True, cache_hash=True):
    """Pods for which every clause holds; pods being deleted count only if `dying` is set."""

    clauses: tuple[Clause, ...]
    dying: bool

    def holds(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return all(clause.holds(namespace, labels) for clause in self.clauses)

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces that all clauses allow; None if every namespace is allowed."""
        limits = [c.namespaces for c in self.clauses if c.namespaces is not None]
        return frozenset.intersection(*limits) if limits else None

    @property
    def requirements(self) -> Iterator[Requirement]:
        return (each for clause in self.clauses for each in clause.selector.requirements)


class SelectorIndex(Generic[T]):
    """Finds, for a pod's labels, the few items whose requirements they may meet.

    An item with a requirement `key in (values)` is indexed under these values only.
    """

    __slots__ = ("_by_label", "_others")

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], dict[T, None]] = {}
        self._others: dict[T, None] = {}

    def add(self, item: T, requirements: Iterable[Requirement]) -> None:
        wanted = _wanted_labels(requirements)
        for label in wanted:
            self._by_label.setdefault(label, {})[item] = None
        if not wanted:
            self._others[item] = None

    def remove(self, item: T, requirements: Iterable[Requirement]) -> None:
        for label in _wanted_labels(requirements):
            items = self._by_label[label]
            del items[item]
            if not items:
                del self._by_label[label]
        self._others.pop(item, None)

    def candidates(self, labels: Mapping[str, str]) -> Iterator[T]:
        """Every item that may select the labels, and some that do not; none twice."""
        by_label = self._by_label
        for label in labels.items():
            found = by_label.get(label)
            if found is not None:
                yield from found
        yield from self._others


def _wanted_labels(requirements: Iterable[Requirement]) -> list[tuple[str, str]]:
    for key, operator, values in requirements:
        if operator == IN:
            return [(key, value) for value in values]
    return []
