"""The causes of a refusal, and checks that many kinds share."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from moorage.api import name_validation, quantity
from moorage.api.quantity import QuantityError
from moorage.memory.error_messages import invalid_value, not_allowed, required

Causes = Iterator[str]

NOT_NEGATIVE: Final = "must be greater than or equal to 0"


def unsupported(field: str, value: Any, supported: Iterable[str]) -> str:
    """A field has a value outside its set of supported values."""
    listed = ", ".join(json.dumps(each) for each in supported)
    return f"{field}: Unsupported value: {json.dumps(value)}: supported values: {listed}"


def duplicate(field: str, value: Any) -> str:
    """A field has the same value as another, where values must differ."""
    return f"{field}: Duplicate value: {json.dumps(value, separators=(',', ':'))}"


def missing_reference(field: str, value: str) -> str:
    """A field names an object that does not exist."""
    return f"{field}: Not found: {json.dumps(value)}"


def check_choice(field: str, value: Any, supported: Iterable[str]) -> Causes:
    """A field, if set, must have a supported value."""
    supported = tuple(supported)
    if value not in (None, "") and value not in supported:
        yield unsupported(field, value, supported)


def check_not_negative(field: str, value: int | None) -> Causes:
    """A number, if set, must be at least 0."""
    if value is not None and value < 0:
        yield invalid_value(field, value, NOT_NEGATIVE)


def check_dns_label(field: str, value: str | None) -> Causes:
    """A required name that must be a DNS label."""
    if not value:
        yield required(field)
    else:
        yield from _faulty(field, value, name_validation.dns_label_faults(value))


def check_subdomain(field: str, value: str | None) -> Causes:
    """The name of another object, if set, must be a DNS subdomain."""
    if value:
        yield from _faulty(field, value, name_validation.subdomain_faults(value))


def check_label_key(field: str, key: str) -> Causes:
    """The key of a label, taint or the like, with or without a prefix."""
    if not name_validation.is_qualified_name(key):
        yield from _faulty(field, key, name_validation.label_key_faults(key))


def check_labels(field: str, labels: Mapping[str, str] | None) -> Causes:
    """Labels by key and value."""
    for key, value in (labels or {}).items():
        yield from check_label_key(field, key)
        if not name_validation.is_label_value(value or ""):
            yield from _faulty(field, value, name_validation.label_value_faults(value))


def check_owners(field: str, owners: Iterable[Mapping[str, Any]] | None) -> Causes:
    """References to the owners of an object."""
    for index, owner in enumerate(owners or ()):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                yield required(f"{field}[{index}].{name}", "must not be empty")


def _faulty(field: str, value: str, faults: Iterable[str]) -> Causes:
    for fault in faults:
        yield invalid_value(field, value, fault)


def check_selector(field: str, selector: Mapping[str, Any] | None) -> Causes:
    """A label selector."""
    if selector is None:
        return
    yield from check_labels(f"{field}.matchLabels", selector.get("matchLabels"))
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        where = f"{field}.matchExpressions[{index}]"
        operator, values = expression.get("operator"), expression.get("values") or ()
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                yield required(f"{where}.values", detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield not_allowed(f"{where}.values", detail)
        else:
            yield invalid_value(
                f"{where}.operator", operator or "", "not a valid selector operator"
            )
        yield from check_label_key(f"{where}.key", expression.get("key") or "")


def amount(value: Any) -> quantity.Quantity | None:
    """The quantity that `value` spells, or None if it is no quantity."""
    try:
        return quantity.parse(str(value))
    except QuantityError:
        return None


def check_amount(field: str, value: Any) -> Causes:
    """A quantity of at least 0."""
    parsed = amount(value)
    if parsed is not None and parsed < quantity.parse("0"):
        yield invalid_value(field, str(value), NOT_NEGATIVE)
