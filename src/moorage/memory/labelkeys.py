"""`matchLabelKeys` and `mismatchLabelKeys`: label values of the new pod join its selectors."""

from typing import Final

from moorage.watch.surface import Raw

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def merge(spec: Raw, labels: dict[str, str]) -> Raw:
    """The spec with the keys of its affinity terms and spread constraints made selectors."""
    merged = spec
    if constraints := spec.get("topologySpreadConstraints"):
        merged = {**merged, "topologySpreadConstraints": [_term(c, labels) for c in constraints]}
    if affinity := spec.get("affinity"):
        merged = {**merged, "affinity": _affinity(affinity, labels)}
    return merged


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
