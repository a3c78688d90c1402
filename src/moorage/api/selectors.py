"""Selectors: which labels a label selector matches, and which nodes a node selector matches."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from moorage.api import label_requirements
from moorage.api.label_requirements import Requirement, SelectorError
from moorage.api.meta import LabelSelector, LabelSelectorRequirement
from moorage.api.node_selectors import (
    NodeTerm,
    compile_node_selector,
    compile_preferred,
    compile_term,
    node_selector_matches,
    required_affinity_matches,
    term_matches,
)

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "NodeTerm",
    "Requirement",
    "Selector",
    "SelectorError",
    "compile",
    "compile_node_selector",
    "compile_preferred",
    "compile_term",
    "from_labels",
    "matches_labels",
    "node_selector_matches",
    "required_affinity_matches",
    "term_matches",
]

_OPERATORS: Final = frozenset(
    (
        label_requirements.IN,
        label_requirements.NOT_IN,
        label_requirements.EXISTS,
        label_requirements.DOES_NOT_EXIST,
    )
)


class Selector(msgspec.Struct, frozen=True, cache_hash=True):
    """A label selector in canonical form: equivalent selectors compare equal."""

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    @property
    def selects_everything(self) -> bool:
        """Whether any labels at all are selected."""
        return not self.requirements and not self.selects_nothing

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that it reads."""
        return frozenset(requirement.key for requirement in self.requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether the labels are selected."""
        return not self.selects_nothing and label_requirements.all_match(self.requirements, labels)

    def with_labels(self, labels: Mapping[str, str]) -> "Selector":
        """Return the selector that requires these labels too; one that matches nothing stays so."""
        if self.selects_nothing or not labels:
            return self
        return _canonical((*self.requirements, *(_equals(k, v) for k, v in labels.items())))

    def __str__(self) -> str:
        return "<none>" if self.selects_nothing else ",".join(map(str, self.requirements))


EVERYTHING: Final = Selector()
NOTHING: Final = Selector(selects_nothing=True)


def compile(selector: LabelSelector | None) -> Selector:
    """Check a label selector and bring it into canonical form: None selects nothing."""
    if selector is None:
        return NOTHING
    labels = (
        label_requirements.check_requirement(key, label_requirements.IN, (value,))
        for key, value in selector.match_labels.items()
    )
    return _canonical((*labels, *map(_checked, selector.match_expressions)))


def from_labels(labels: Mapping[str, str]) -> Selector:
    """Return the selector that requires equal labels, unchecked, as services have it."""
    return _canonical(_equals(key, value) for key, value in labels.items())


def matches_labels(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Say whether the labels match; to match many times, use `compile` once."""
    return compile(selector).matches(labels)


def _checked(expression: LabelSelectorRequirement) -> Requirement:
    if expression.operator not in _OPERATORS:
        raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
    return label_requirements.check_requirement(
        expression.key, expression.operator, expression.values
    )


def _equals(key: str, value: str) -> Requirement:
    return Requirement(key, label_requirements.IN, (value,))


def _canonical(every: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(set(every))))
