"""`matchLabelKeys` and `mismatchLabelKeys`: label values of the new pod join its selectors."""

from collections.abc import Iterator
from typing import Final

from moorage.watch.surface import Raw

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def merge(spec: Raw, labels: dict[str, str]) -> Raw:
    """The spec with the keys of its affinity terms and spread constraints made selectors.

    A spec without such keys is returned as it is.
    """
    merged = spec
    constraints = spec.get("topologySpreadConstraints") or ()
    if any(_has_keys(constraint) for constraint in constraints):
        merged = {**merged, "topologySpreadConstraints": [_term(c, labels) for c in constraints]}
    affinity = spec.get("affinity") or {}
    if any(_has_keys(term) for term in _terms(affinity)):
        merged = {**merged, "affinity": _affinity(affinity, labels)}
    return merged


def _terms(affinity: Raw) -> Iterator[Raw]:
    for field in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(field) or {}
        yield from rules.get(_REQUIRED) or ()
        for preferred in rules.get(_PREFERRED) or ():
            yield preferred.get("podAffinityTerm") or {}


def _has_keys(term: Raw) -> bool:
    return bool(term.get("matchLabelKeys") or term.get("mismatchLabelKeys"))


def _affinity(affinity: Raw, labels: dict[str, str]) -> Raw:
    merged = {**affinity}
    for field in ("podAffinity", "podAntiAffinity"):
        if rules := affinity.get(field):
            merged[field] = _rules(rules, labels)
    return merged


def _rules(rules: Raw, labels: dict[str, str]) -> Raw:
    merged = {**rules}
    if required := rules.get(_REQUIRED):
        merged[_REQUIRED] = [_term(term, labels) for term in required]
    if preferred := rules.get(_PREFERRED):
        merged[_PREFERRED] = [
            {**each, "podAffinityTerm": _term(each.get("podAffinityTerm") or {}, labels)}
            for each in preferred
        ]
    return merged


def _term(term: Raw, labels: dict[str, str]) -> Raw:
    """A term or constraint; without a selector it matches nothing, and stays so."""
    selector = term.get("labelSelector")
    if selector is None:
        return term
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}
