"""The causes of a refusal, and checks that many kinds share."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from moorage.api import quantity
from moorage.api.quantity import QuantityError
from moorage.memory.error_messages import invalid_value, not_allowed, required

Causes = Iterator[str]

_LABEL_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH: Final = 63
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_DNS_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_DNS_LABEL.pattern}')"
)
_NAME_PART_RULE: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_LABEL_NAME.pattern}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_LABEL_VALUE.pattern}')"
)
_TOO_LONG: Final = f"must be no more than {_NAME_LENGTH} bytes"


def unsupported(field: str, value: Any, supported: Iterable[str]) -> str:
    """A field has none of the values it may have."""
    listed = ", ".join(json.dumps(each) for each in supported)
    return f"{field}: Unsupported value: {json.dumps(value)}: supported values: {listed}"


def duplicate(field: str, value: Any) -> str:
    """A field has the value of another that must differ."""
    return f"{field}: Duplicate value: {json.dumps(value, separators=(',', ':'))}"


def missing_reference(field: str, value: str) -> str:
    """A field names something that is not there."""
    return f"{field}: Not found: {json.dumps(value)}"


def check_choice(field: str, value: Any, supported: Iterable[str]) -> Causes:
    """A field, where it is set, must have one of some values."""
    supported = tuple(supported)
    if value not in (None, "") and value not in supported:
        yield unsupported(field, value, supported)


def check_not_negative(field: str, value: int | None) -> Causes:
    """A number, where it is given, is at least 0."""
    if value is not None and value < 0:
        yield invalid_value(field, value, NOT_NEGATIVE)


def check_dns_label(field: str, value: str | None) -> Causes:
    """A name that must be there and may be part of a host name."""
    if not value:
        yield required(field)
    elif _DNS_LABEL.fullmatch(value) is None:
        yield invalid_value(field, value, _DNS_LABEL_RULE)
    elif len(value) > _NAME_LENGTH:
        yield invalid_value(field, value, _TOO_LONG)


def check_label_key(field: str, key: str) -> Causes:
    """The key of a label, taint or the like, with or without a prefix."""
    prefix, slash, name = key.rpartition("/")
    if slash and _SUBDOMAIN.fullmatch(prefix) is None:
        yield invalid_value(field, key, "prefix part must be a valid DNS subdomain")
    if not name:
        yield invalid_value(field, key, "name part must be non-empty")
    if _LABEL_NAME.fullmatch(name) is None:
        yield invalid_value(field, key, _NAME_PART_RULE)
    elif len(name) > _NAME_LENGTH:
        yield invalid_value(field, key, f"name part {_TOO_LONG}")


def check_labels(field: str, labels: Mapping[str, str] | None) -> Causes:
    """Labels by key and value."""
    for key, value in (labels or {}).items():
        yield from check_label_key(field, key)
        if _LABEL_VALUE.fullmatch(value or "") is None:
            yield invalid_value(field, value, _VALUE_RULE)
        elif len(value or "") > _NAME_LENGTH:
            yield invalid_value(field, value, _TOO_LONG)


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
    """A quantity as written, or None where it is none."""
    try:
        return quantity.parse(str(value))
    except QuantityError:
        return None


def check_amount(field: str, value: Any) -> Causes:
    """A quantity of at least 0."""
    parsed = amount(value)
    if parsed is not None and parsed < quantity.parse("0"):
        yield invalid_value(field, str(value), NOT_NEGATIVE)
