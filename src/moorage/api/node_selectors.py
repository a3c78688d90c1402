"""Node selectors: terms of which one must match, each about a node's labels and fields.

An empty term matches no node. A malformed term does not invalidate the whole selector: it matches
no node, and its error is raised only if no other term matches.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from moorage.api import label_requirements
from moorage.api.affinity import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from moorage.api.label_requirements import Requirement, SelectorError
from moorage.api.node import Node

if TYPE_CHECKING:
    from moorage.api.pod import Pod

NAME_FIELD = "metadata.name"


class NodeTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """A node selector term in canonical form: equivalent terms compare equal.

    The only field with a value is `metadata.name`; any other reads as empty.
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, node: Node) -> bool:
        """Say whether the node's labels and name meet the term."""
        if not label_requirements.all_match(self.labels, node.metadata.labels):
            return False
        return not node.name or all(self._field_matches(field, node) for field in self.fields)

    @staticmethod
    def _field_matches(field: Requirement, node: Node) -> bool:
        value = node.name if field.key == NAME_FIELD else ""
        return (value == field.values[0]) is (field.operator == label_requirements.IN)


def compile_term(term: NodeSelectorTerm) -> NodeTerm | None:
    """Check a term and bring it into canonical form; None for the empty term."""
    if not term.match_expressions and not term.match_fields:
        return None
    labels, label_errors = _collect(term.match_expressions, _check_label)
    fields, field_errors = _collect(term.match_fields, _check_field)
    errors = [*label_errors, *field_errors]
    if errors:
        raise SelectorError("; ".join(errors))
    return NodeTerm(labels, fields)


def compile_node_selector(
    selector: NodeSelector,
) -> tuple[tuple[NodeTerm, ...], SelectorError | None]:
    """Return the terms that can match, and the error of the malformed ones."""
    terms: list[NodeTerm] = []
    errors: list[str] = []
    for index, term in enumerate(selector.node_selector_terms):
        try:
            compiled = compile_term(term)
        except SelectorError as error:
            errors.append(f"nodeSelectorTerms[{index}]: {error}")
            continue
        if compiled is not None:
            terms.append(compiled)
    return tuple(terms), SelectorError("; ".join(errors)) if errors else None


def compile_preferred(
    preferred: Iterable[PreferredSchedulingTerm],
) -> tuple[tuple[int, NodeTerm], ...]:
    """Return weights and terms, without empty and weightless ones; raise if any is malformed."""
    terms: list[tuple[int, NodeTerm]] = []
    errors: list[str] = []
    for index, term in enumerate(preferred):
        try:
            compiled = compile_term(term.preference) if term.weight else None
        except SelectorError as error:
            errors.append(f"[{index}]: {error}")
            continue
        if compiled is not None:
            terms.append((term.weight, compiled))
    if errors:
        raise SelectorError("; ".join(errors))
    return tuple(terms)


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Say whether the node meets the term; raise SelectorError if the term is malformed."""
    compiled = compile_term(term)
    return compiled is not None and compiled.matches(node)


def node_selector_matches(selector: NodeSelector, node: Node) -> bool:
    """Say whether the node matches a term; raise only if none matches and one is malformed."""
    terms, error = compile_node_selector(selector)
    if any(term.matches(node) for term in terms):
        return True
    if error is not None:
        raise error
    return False


def required_affinity_matches(pod: "Pod", node: Node) -> bool:
    """Say whether the node matches the pod's nodeSelector and required node affinity."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return True
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return required is None or node_selector_matches(required, node)


def _collect(
    expressions: Iterable[NodeSelectorRequirement],
    check: Callable[[NodeSelectorRequirement], Requirement],
) -> tuple[tuple[Requirement, ...], list[str]]:
    good: set[Requirement] = set()
    errors: list[str] = []
    for expression in expressions:
        try:
            good.add(check(expression))
        except SelectorError as error:
            errors.append(str(error))
    return tuple(sorted(good)), errors


def _check_label(expression: NodeSelectorRequirement) -> Requirement:
    return label_requirements.check_requirement(
        expression.key, expression.operator, expression.values
    )


def _check_field(expression: NodeSelectorRequirement) -> Requirement:
    if expression.operator not in (label_requirements.IN, label_requirements.NOT_IN):
        raise SelectorError(
            f"field {expression.key!r}: {expression.operator!r} is neither In nor NotIn"
        )
    if len(expression.values) != 1:
        raise SelectorError(
            f"field {expression.key!r}: {expression.operator} needs exactly one value"
        )
    return Requirement(expression.key, expression.operator, expression.values)
