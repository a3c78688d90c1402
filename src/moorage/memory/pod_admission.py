"""Admission of pod specs: defaults, matchLabelKeys and priority, done once for a shared spec.

Replicas created from one template share its spec: the same dict object. What is stored for the
first pod is stored for all, so a million pods of ten kinds hold ten specs.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from moorage.memory import pod_defaults, priority_admission, stored_objects
from moorage.memory.versioned_store import Table
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(spec: Raw, labels: dict[str, str]) -> Raw:
    """The spec with matchLabelKeys of affinity terms and spread constraints turned into selectors.

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
    """A term or constraint with the keys added; without a selector it is returned unchanged."""
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


SPECS_KEPT: Final = 1024


class _Known(NamedTuple):
    given: Raw  # keeps the dict alive, so that no other spec gets its id
    admitted: Raw
    classes: int


class PodSpecAdmission:
    """Remembers the last specs, by id of the dict, and the specs it made from them."""

    def __init__(self, classes: Table) -> None:
        self._classes = classes
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._restored: OrderedDict[int, tuple[Raw, Raw]] = OrderedDict()

    def restored(self, spec: Raw) -> Raw:
        """The spec, with defaults, of a restored pod that has its priority already."""
        known = self._restored.get(id(spec))
        if known is not None:
            return known[1]
        filled = {**priority_admission.NO_CLASS, **pod_defaults.fill_pod_defaults(spec)}
        self._restored[id(spec)] = spec, filled
        if len(self._restored) > SPECS_KEPT:
            self._restored.popitem(last=False)
        return filled

    def admitted(self, metadata: Raw, spec: Raw) -> Raw:
        """The spec of a new pod with defaults and priority; raises an ApiError if it is refused."""
        known = self._known.get(id(spec))
        if known is not None and known.classes == self._classes.history.end:
            return known.admitted
        filled = pod_defaults.fill_pod_defaults(spec)
        merged = merge_label_keys(filled, metadata.get("labels") or {})
        admitted = priority_admission.admit_pod_priority(self._classes, metadata, merged)
        stored_objects.decode_or_refuse({"metadata": metadata, "spec": admitted}, PODS)
        if merged is filled:
            self._remember(spec, admitted)
        return admitted

    def _remember(self, spec: Raw, admitted: Raw) -> None:
        self._known[id(spec)] = _Known(spec, admitted, self._classes.history.end)
        if len(self._known) > SPECS_KEPT:
            self._known.popitem(last=False)
