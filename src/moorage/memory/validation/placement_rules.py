"""What a pod says about nodes: affinity, spread constraints, tolerations."""

from collections.abc import Callable
from typing import Any, Final

from moorage.memory.error_messages import invalid_value, not_allowed, required
from moorage.memory.validation.field_causes import (
    Causes,
    check_choice,
    check_label_key,
    check_labels,
    check_selector,
    duplicate,
    unsupported,
)
from moorage.watch.api_server import Raw

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POLICIES: Final = ("Honor", "Ignore")
_WHEN: Final = ("DoNotSchedule", "ScheduleAnyway")


def check_placement(field: str, spec: Raw) -> Causes:
    """Everything in a pod's spec that constrains or prefers nodes."""
    yield from check_labels(f"{field}.nodeSelector", spec.get("nodeSelector"))
    affinity = spec.get("affinity") or {}
    yield from _node_affinity(f"{field}.affinity.nodeAffinity", affinity.get("nodeAffinity") or {})
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(f"{field}.affinity.{kind}", affinity.get(kind) or {})
    yield from _spread(f"{field}.topologySpreadConstraints", spec)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(f"{field}.tolerations[{index}]", toleration)


def _node_affinity(field: str, rules: Raw) -> Causes:
    selector = rules.get(_REQUIRED)
    if selector is not None:
        where = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        terms = selector.get("nodeSelectorTerms") or ()
        if not terms:
            yield required(where, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from node_term(f"{where}[{index}]", term)
    for index, preferred in enumerate(rules.get(_PREFERRED) or ()):
        where = f"{field}.{_PREFERRED}[{index}]"
        yield from _weight(where, preferred)
        yield from node_term(f"{where}.preference", preferred.get("preference") or {})


def node_term(field: str, term: Raw) -> Causes:
    """One term of a node selector."""
    for name in ("matchExpressions", "matchFields"):
        for index, expression in enumerate(term.get(name) or ()):
            yield from _node_expression(f"{field}.{name}[{index}]", expression)


def _node_expression(field: str, expression: Raw) -> Causes:
    operator, values = expression.get("operator"), expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(
                f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"
            )
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield not_allowed(f"{field}.values", detail)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{field}.values", detail)
    else:
        yield invalid_value(f"{field}.operator", operator or "", "not a valid selector operator")
    yield from check_label_key(f"{field}.key", expression.get("key") or "")


def _pod_affinity(field: str, rules: Raw) -> Causes:
    for index, term in enumerate(rules.get(_REQUIRED) or ()):
        yield from _pod_term(f"{field}.{_REQUIRED}[{index}]", term)
    for index, preferred in enumerate(rules.get(_PREFERRED) or ()):
        where = f"{field}.{_PREFERRED}[{index}]"
        yield from _weight(where, preferred)
        yield from _pod_term(f"{where}.podAffinityTerm", preferred.get("podAffinityTerm") or {})


def _pod_term(field: str, term: Raw) -> Causes:
    for name in ("labelSelector", "namespaceSelector"):
        yield from check_selector(f"{field}.{name}", term.get(name))
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{field}.topologyKey", "can not be empty")
    yield from check_label_key(f"{field}.topologyKey", key)


def _weight(field: str, preferred: Raw) -> Causes:
    weight = preferred.get("weight") or 0
    if not 1 <= weight <= 100:
        yield invalid_value(f"{field}.weight", weight, "must be in the range 1-100")


def _spread(field: str, spec: Raw) -> Causes:
    rules = spec.get("topologySpreadConstraints") or ()
    for index, rule in enumerate(rules):
        yield from _constraint(f"{field}[{index}]", rule)
        pair = _pair(rule)
        if pair in map(_pair, rules[index + 1 :]):
            where = f"{field}[{index}].{{topologyKey, whenUnsatisfiable}}"
            yield duplicate(where, f"{{{pair[0]}, {pair[1]}}}")


def _pair(rule: Raw) -> tuple[Any, Any]:
    return rule.get("topologyKey"), rule.get("whenUnsatisfiable")


def _constraint(field: str, rule: Raw) -> Causes:
    skew, when, domains = (
        rule.get("maxSkew") or 0,
        rule.get("whenUnsatisfiable"),
        rule.get("minDomains"),
    )
    if skew <= 0:
        yield invalid_value(f"{field}.maxSkew", skew, "must be greater than zero")
    if not rule.get("topologyKey"):
        yield required(f"{field}.topologyKey", "can not be empty")
    if when not in _WHEN:
        yield unsupported(f"{field}.whenUnsatisfiable", when or "", _WHEN)
    if domains is not None and domains <= 0:
        yield invalid_value(f"{field}.minDomains", domains, "must be greater than zero")
    elif domains is not None and when == "ScheduleAnyway":
        detail = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
        yield invalid_value(f"{field}.minDomains", domains, detail)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from check_choice(f"{field}.{name}", rule.get(name), _POLICIES)
    yield from check_selector(f"{field}.labelSelector", rule.get("labelSelector"))


def _toleration(field: str, toleration: Raw) -> Causes:
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    effect, value = toleration.get("effect") or "", toleration.get("value") or ""
    if key:
        yield from check_label_key(f"{field}.key", key)
    elif operator != "Exists":
        detail = (
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"'
        )
        yield invalid_value(f"{field}.operator", operator, detail)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid_value(f"{field}.effect", effect, detail)
    yield from _OPERATORS.get(operator, _no_operator)(field, operator, value)
    yield from check_choice(f"{field}.effect", effect, EFFECTS)


def _equal(field: str, operator: str, value: str) -> Causes:
    yield from check_labels(f"{field}.operator", {"value": value})


def _exists(field: str, operator: str, value: str) -> Causes:
    if value:
        detail = "value must be empty when `operator` is 'Exists'"
        yield invalid_value(f"{field}.operator", value, detail)


def _no_operator(field: str, operator: str, value: str) -> Causes:
    compared = ("Lt", "Gt") if operator in ("Lt", "Gt") else ()
    yield unsupported(f"{field}.operator", operator, ("Equal", "Exists", *compared))


_OPERATORS: Final[dict[str, Callable[[str, str, str], Causes]]] = {
    "Equal": _equal,
    "Exists": _exists,
}
