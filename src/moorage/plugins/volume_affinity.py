"""Where volumes can be reached from: their node affinity as masks over label columns.

Volumes know nodes by labels alone. A term's fields are checked for form and then hold anywhere, as
they do in kube-scheduler.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.api import requirements
from moorage.api.affinity import NodeSelector
from moorage.api.node_selectors import compile_node_selector
from moorage.api.requirements import IN, NOT_IN, Requirement
from moorage.api.storage import PersistentVolume
from moorage.cache import node_selectors
from moorage.cache.view import Nodes

Mask = NDArray[np.bool_]

Term = tuple[Requirement, ...]
Reach = tuple[Term, ...] | None
"""Terms of which one must hold; None reaches every node."""


def reach_of(volume: PersistentVolume) -> Reach:
    affinity = volume.spec.node_affinity
    return compile_reach(affinity.required if affinity is not None else None)


def compile_reach(selector: NodeSelector | None) -> Reach:
    if selector is None:
        return None
    terms, _ = compile_node_selector(selector)
    return tuple(term.labels for term in terms)


def reaches(reach: Reach, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels is within reach."""
    return reach is None or any(requirements.all_match(term, labels) for term in reach)


def mask(reach: Reach, nodes: Nodes) -> Mask:
    """bool (node): the node is within reach."""
    if reach is None:
        return np.ones(nodes.count, dtype=bool)
    found = np.zeros(nodes.count, dtype=bool)
    for term in reach:
        found |= all_hold(term, nodes)
    return found


def all_hold(term: Term, nodes: Nodes) -> Mask:
    found = np.ones(nodes.count, dtype=bool)
    for requirement in term:
        found &= _holds(requirement, nodes)
    return found


def _holds(requirement: Requirement, nodes: Nodes) -> Mask:
    if requirement.operator not in (IN, NOT_IN):
        return node_selectors.labels_match(requirement, nodes)
    known = nodes.table.label(requirement.key).values
    wanted = [found for value in requirement.values if (found := known.find(value)) is not None]
    inside = np.isin(nodes.label(requirement.key), wanted)
    return inside if requirement.operator == IN else ~inside
