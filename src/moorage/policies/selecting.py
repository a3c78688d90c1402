"""Node selectors over label columns: which of the asked-for nodes match."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from moorage.api.node_selectors import NAME_FIELD, NodeTerm
from moorage.api.requirements import IN, Requirement
from moorage.cache.view import Nodes

Mask = NDArray[np.bool_]


def any_term(terms: Iterable[NodeTerm], nodes: Nodes) -> Mask:
    """bool (node): one of the terms holds."""
    mask = np.zeros(nodes.count, dtype=bool)
    for term in terms:
        mask |= whole_term(term, nodes)
    return mask


def whole_term(term: NodeTerm, nodes: Nodes) -> Mask:
    """bool (node): all that the term asks for holds."""
    mask = all_labels(term.labels, nodes)
    for requirement in term.fields:
        mask &= _field(requirement, nodes)
    return mask


def all_labels(requirements: Iterable[Requirement], nodes: Nodes) -> Mask:
    """bool (node): the node's labels meet every requirement."""
    mask = np.ones(nodes.count, dtype=bool)
    for requirement in requirements:
        mask &= _label(requirement, nodes)
    return mask


def any_label(pairs: Iterable[tuple[str, str]], nodes: Nodes) -> Mask:
    """bool (node): the node carries one of the labels."""
    mask = np.zeros(nodes.count, dtype=bool)
    for key, value in pairs:
        known = nodes.table.label(key).values.find(value)
        if known is not None:
            mask |= nodes.label(key) == known
    return mask


def _label(requirement: Requirement, nodes: Nodes) -> Mask:
    key = requirement.key

    def holds(value: str | None) -> bool:
        return requirement.matches({} if value is None else {key: value})

    return nodes.table.label(key).truth(requirement, holds)[nodes.label(key)]


def _field(requirement: Requirement, nodes: Nodes) -> Mask:
    """Of fields, only a node's name has a value; any other reads as empty."""
    wanted = requirement.values[0]
    mask = np.full(nodes.count, requirement.key != NAME_FIELD and not wanted)
    row = nodes.table.row_of.get(wanted) if requirement.key == NAME_FIELD else None
    if row is not None:
        mask[nodes.index == row] = True
    return mask if requirement.operator == IN else ~mask
