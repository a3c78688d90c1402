"""Zones of in-tree volumes, put in the words of the CSI driver that takes their place."""

from typing import Final

import msgspec

from moorage.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.api.node import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL
from moorage.api.requirements import IN
from moorage.api.storage import PersistentVolume

ZONE_SEPARATOR: Final = "__"

_Terms = tuple[NodeSelectorTerm, ...]


def csi_selector(volume: PersistentVolume, zone_label: str) -> NodeSelector | None:
    """The node affinity of the CSI equivalent of a volume.

    Zones it names move to the driver's label; zones it has only as labels become requirements.
    """
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    zone, region = _labels_in_use(volume, terms)
    if _has_values(terms, zone):
        terms = _renamed(terms, zone, zone_label)
    elif zones := _labelled_zones(volume, zone):
        terms = _requiring(terms or (NodeSelectorTerm(),), zone_label, zones)
    if region == BETA_REGION_LABEL and _has_values(terms, region):
        terms = _renamed(terms, region, REGION_LABEL)
    return NodeSelector(node_selector_terms=terms) if terms or required is not None else None


def _labels_in_use(volume: PersistentVolume, terms: _Terms) -> tuple[str, str]:
    """The zone and region label that the volume goes by: today's, or their beta predecessors."""
    named = {expression.key for term in terms for expression in term.match_expressions}
    for known in (named, volume.labels.keys()):
        if ZONE_LABEL in known:
            return ZONE_LABEL, REGION_LABEL
        if BETA_ZONE_LABEL in known:
            return BETA_ZONE_LABEL, BETA_REGION_LABEL
    return ZONE_LABEL, REGION_LABEL


def _has_values(terms: _Terms, key: str) -> bool:
    return any(
        expression.key == key and expression.values
        for term in terms
        for expression in term.match_expressions
    )


def _labelled_zones(volume: PersistentVolume, label: str) -> tuple[str, ...]:
    zones = (zone.strip() for zone in volume.labels.get(label, "").split(ZONE_SEPARATOR))
    return tuple(sorted({zone for zone in zones if zone}))


def _renamed(terms: _Terms, old: str, new: str) -> _Terms:
    def rename(expression: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return msgspec.structs.replace(expression, key=new) if expression.key == old else expression

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(rename, term.match_expressions)))
        for term in terms
    )


def _requiring(terms: _Terms, label: str, zones: tuple[str, ...]) -> _Terms:
    added = NodeSelectorRequirement(key=label, operator=IN, values=zones)
    return tuple(
        msgspec.structs.replace(term, match_expressions=(*term.match_expressions, added))
        for term in terms
    )
