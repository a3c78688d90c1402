"""Nodes, priority classes, disruption budgets, quotas, limits, runtime classes."""

import re
from typing import Any, Final

from moorage.memory.error_messages import invalid_value, not_allowed, required
from moorage.memory.priority_admission import SYSTEM_CLASSES
from moorage.memory.validation.field_causes import (
    NOT_NEGATIVE,
    Causes,
    amount,
    check_amount,
    check_choice,
    check_dns_label,
    check_label_key,
    check_selector,
    duplicate,
)
from moorage.memory.validation.placement_rules import EFFECTS
from moorage.watch.api_server import Raw

_HIGHEST: Final = 1_000_000_000
_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    f"'93%', regex used for validation is '{_PERCENT.pattern}')"
)


def check_node(raw: Raw) -> Causes:
    """A Node; its taints are named under metadata, as the API server names them."""
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate((raw.get("spec") or {}).get("taints") or ()):
        where, effect = f"metadata.taints[{index}]", taint.get("effect")
        yield from check_label_key(f"{where}.key", taint.get("key") or "")
        if not effect:
            yield required(f"{where}.effect")
        yield from check_choice(f"{where}.effect", effect, EFFECTS)
        if (taint.get("key"), effect) in seen:
            detail = "taints must be unique by key and effect pair"
            yield f"{duplicate(where, taint)}: {detail}"
        seen.add((taint.get("key"), effect))
    status = raw.get("status") or {}
    for part in ("capacity", "allocatable"):
        for name, value in (status.get(part) or {}).items():
            yield from check_amount(f"status.{part}.{name}", value)


def check_priority_class(raw: Raw) -> Causes:
    """A PriorityClass."""
    value = raw.get("value") or 0
    if value > _HIGHEST and raw["metadata"].get("name") not in SYSTEM_CLASSES:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        yield not_allowed("value", detail)
    policies = ("PreemptLowerPriority", "Never")
    yield from check_choice("preemptionPolicy", raw.get("preemptionPolicy"), policies)


def check_budget(raw: Raw) -> Causes:
    """A PodDisruptionBudget."""
    spec = raw.get("spec") or {}
    given = {name: spec.get(name) for name in ("minAvailable", "maxUnavailable")}
    if None not in given.values():
        yield invalid_value("spec", given, "minAvailable and maxUnavailable cannot be both set")
    for name, value in given.items():
        if isinstance(value, int) and value < 0:
            yield invalid_value(f"spec.{name}", value, NOT_NEGATIVE)
        elif isinstance(value, str) and _PERCENT.fullmatch(value) is None:
            yield invalid_value(f"spec.{name}", value, _PERCENT_RULE)
    yield from check_selector("spec.selector", spec.get("selector"))


def check_runtime_class(raw: Raw) -> Causes:
    """A RuntimeClass."""
    yield from check_dns_label("handler", raw.get("handler"))


def check_limit_range(raw: Raw) -> Causes:
    """A LimitRange."""
    for index, limit in enumerate((raw.get("spec") or {}).get("limits") or ()):
        highest = limit.get("max") or {}
        for name, value in (limit.get("min") or {}).items():
            least, most = amount(value), amount(highest.get(name, ""))
            if least is not None and most is not None and most < least:
                detail = f"min value {value} is greater than max value {highest[name]}"
                yield invalid_value(f"spec.limits[{index}].min[{name}]", str(value), detail)


def check_quota(raw: Raw) -> Causes:
    """A ResourceQuota."""
    for name, value in ((raw.get("spec") or {}).get("hard") or {}).items():
        yield from check_amount(f"spec.hard[{name}]", value)
