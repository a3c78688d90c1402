"""Node selectors evaluated over label columns: a mask of the nodes that match."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from moorage.api.label_requirements import IN, Requirement
from moorage.api.node_selectors import NAME_FIELD, NodeTerm
from moorage.cache.node_view import Nodes

Mask = NDArray[np.bool_]


def any_term(terms: Iterable[NodeTerm], nodes: Nodes) -> Mask:
    """bool (node): at least one of the terms holds."""
    mask = np.zeros(nodes.count, dtype=bool)
    for term in terms:
        mask |= all_requirements(term, nodes)
    return mask


def all_requirements(term: NodeTerm, nodes: Nodes) -> Mask:
    """bool (node): the node's labels and fields meet every requirement of the term."""
    mask = all_labels_match(term.labels, nodes)
    for requirement in term.fields:
        mask &= _name_matches(requirement, nodes)
    return mask


def all_labels_match(requirements: Iterable[Requirement], nodes: Nodes) -> Mask:
    """bool (node): the node's labels meet every requirement."""
    mask = np.ones(nodes.count, dtype=bool)
    for requirement in requirements:
        mask &= labels_match(requirement, nodes)
    return mask


def labels_match(requirement: Requirement, nodes: Nodes) -> Mask:
    """bool (node): the node's labels meet the requirement."""
    key = requirement.key
    if not nodes.table.has_label(key):
        return np.full(nodes.count, requirement.matches({}))

    def holds(value: str | None) -> bool:
        return requirement.matches({} if value is None else {key: value})

    return nodes.table.label(key).truth(requirement, holds)[nodes.label(key)]


def has_labels(wanted: Iterable[tuple[str, str]], nodes: Nodes) -> Mask:
    """bool (node): the node carries all of these labels (spec.nodeSelector)."""
    mask = np.ones(nodes.count, dtype=bool)
    for key, value in wanted:
        if not nodes.table.has_label(key):
            return np.zeros(nodes.count, dtype=bool)
        known = nodes.table.label(key).values.find(value)
        if known is None:
            return np.zeros(nodes.count, dtype=bool)
        mask &= nodes.label(key) == known
    return mask


def has_any_label(wanted: Iterable[tuple[str, str]], nodes: Nodes) -> Mask:
    """bool (node): the node carries one of these labels."""
    mask = np.zeros(nodes.count, dtype=bool)
    for pair in wanted:
        mask |= has_labels((pair,), nodes)
    return mask


def _name_matches(requirement: Requirement, nodes: Nodes) -> Mask:
    """bool (node): a field requirement holds. Any field but the node's name reads as empty."""
    value = requirement.values[0]
    mask = np.zeros(nodes.count, dtype=bool)
    if requirement.key == NAME_FIELD:
        row = nodes.table.row_of.get(value)
        if row is not None:
            mask[nodes.positions(np.array([row], dtype=np.intp))] = True
    elif value == "":
        mask.fill(True)
    return mask if requirement.operator == IN else ~mask
