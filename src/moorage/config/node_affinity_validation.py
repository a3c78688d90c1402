"""Validation of node affinity in configuration, as strict as kube-scheduler's."""

from collections.abc import Sequence
from typing import Final

from moorage.api import name_validation
from moorage.api.label_requirements import parse_int64
from moorage.api.pod import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm
from moorage.config.field_errors import Path, Report, invalid, unsupported

_SET: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_ORDER: Final = ("Gt", "Lt")
_INT64: Final = range(-(2**63), 2**63)


def validate_node_affinity(affinity: NodeAffinity, report: Report, path: Path) -> None:
    """Report what keeps the affinity from being evaluated."""
    needed = affinity.required_during_scheduling_ignored_during_execution
    at = (*path, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    for i, term in enumerate(needed.node_selector_terms if needed else ()):
        _term(term, report, (*at, i))
    at = (*path, "preferredDuringSchedulingIgnoredDuringExecution")
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for i, weighted in enumerate(preferred):
        if weighted.weight:
            _term(weighted.preference, report, (*at, i, "preference"))


def _term(term: NodeSelectorTerm, report: Report, path: Path) -> None:
    for i, requirement in enumerate(term.match_expressions):
        _expression(requirement, report, (*path, "matchExpressions", i))
    for i, requirement in enumerate(term.match_fields):
        _field(requirement, report, (*path, "matchFields", i))


def _expression(requirement: NodeSelectorRequirement, report: Report, path: Path) -> None:
    operator, values = requirement.operator, requirement.values
    if operator not in (*_SET, *_PRESENCE, *_ORDER):
        report.problem((*path, "operator"), unsupported(operator, (*_SET, *_PRESENCE, *_ORDER)))
        return
    faults = name_validation.label_key_faults(requirement.key)
    if faults:
        report.problem((*path, "key"), invalid(requirement.key, "; ".join(faults)))
    if operator in _SET and not values:
        _count(values, "for 'in', 'notin' operators, values set can't be empty", report, path)
    if operator in _PRESENCE and values:
        _count(values, "values set must be empty for exists and does not exist", report, path)
    if operator in _ORDER and len(values) != 1:
        _count(values, "for 'Gt', 'Lt' operators, exactly one value is required", report, path)
    for i, value in enumerate(values):
        _value(operator, value, report, (*path, "values", i))


def _count(values: Sequence[str], detail: str, report: Report, path: Path) -> None:
    report.problem((*path, "values"), invalid(values, detail))


def _value(operator: str, value: str, report: Report, path: Path) -> None:
    if operator in _ORDER and parse_int64(value) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        report.problem(path, invalid(value, detail))
    faults = name_validation.label_value_faults(value)
    if faults:
        report.problem(path, invalid(value, "; ".join(faults)))


def _field(requirement: NodeSelectorRequirement, report: Report, path: Path) -> None:
    if requirement.operator not in _SET:
        report.problem((*path, "operator"), unsupported(requirement.operator, _SET))
    elif len(requirement.values) != 1:
        _count(requirement.values, "must have one element", report, path)
