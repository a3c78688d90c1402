"""One requirement on labels (key, operator, values): its validation, and whether labels meet it."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moorage.api import int64
from moorage.api.meta import ObjectError
from moorage.api.name_validation import (
    is_label_value,
    is_qualified_name,
    label_key_faults,
    label_value_faults,
)

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GT: Final = "Gt"
LT: Final = "Lt"

_SETS: Final = (IN, NOT_IN)
_COMPARISONS: Final = (GT, LT)
_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")


class SelectorError(ObjectError):
    """A selector that Kubernetes refuses."""


class Requirement(NamedTuple):
    """A key, an operator and its values, sorted and without duplicates."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether the labels meet the requirement."""
        return all_match((self,), labels)

    @property
    def is_equality(self) -> bool:
        """Whether exactly one key and value meets it."""
        return self.operator == IN and len(self.values) == 1

    def __str__(self) -> str:
        if self.operator == EXISTS:
            return self.key
        if self.operator == DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in _COMPARISONS:
            return f"{self.key}{'>' if self.operator == GT else '<'}{self.values[0]}"
        if self.is_equality:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {'in' if self.operator == IN else 'notin'} ({','.join(self.values)})"


def check_requirement(key: str, operator: str, values: Iterable[str]) -> Requirement:
    """Make a requirement in canonical form, or raise SelectorError with Kubernetes' own words."""
    values = tuple(values)
    problems = [
        *_key_problems(key),
        *_count_problems(operator, values),
        *_value_problems(key, values),
    ]
    if problems:
        every = ", ".join(dict.fromkeys(problems))
        raise SelectorError(every if len(problems) == 1 else f"[{every}]")
    if operator in _COMPARISONS:
        return Requirement(key, operator, (str(int(values[0])),))
    return Requirement(key, operator, tuple(sorted(set(values))))


def all_match(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Say whether the labels meet every requirement."""
    for key, operator, values in requirements:
        value = labels.get(key)
        if operator == IN:
            if value not in values:
                return False
        elif operator == NOT_IN:
            if value in values:
                return False
        elif operator == EXISTS:
            if value is None:
                return False
        elif operator == DOES_NOT_EXIST:
            if value is not None:
                return False
        elif not _compares(operator, value, values):
            return False
    return True


def parse_int64(text: str) -> int | None:
    """Read a decimal int64, or return None, as Go's ParseInt fails."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    number = int("".join(match.groups()))
    return number if int64.fits(number) else None


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    number = None if value is None else parse_int64(value)
    if number is None:
        return False
    return number > int(values[0]) if operator == GT else number < int(values[0])


def _key_problems(key: str) -> Iterable[str]:
    if not is_qualified_name(key):
        yield _invalid("key", key, "; ".join(label_key_faults(key)))


def _count_problems(operator: str, values: tuple[str, ...]) -> Iterable[str]:
    if operator in _SETS:
        if not values:
            yield _invalid("values", None, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in _COMPARISONS:
        yield from _bound_problems(values)
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            detail = "values set must be empty for exists and does not exist"
            yield _invalid("values", values, detail)
    else:
        yield f"operator: Unsupported value: {_quoted(operator)}"


def _bound_problems(values: tuple[str, ...]) -> Iterable[str]:
    if len(values) != 1:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        yield _invalid("values", values or None, detail)
    for index, value in enumerate(values):
        if parse_int64(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield _invalid(f"values[{index}]", value, detail)


def _value_problems(key: str, values: tuple[str, ...]) -> Iterable[str]:
    for index, value in enumerate(values):
        if not is_label_value(value):
            detail = "; ".join(label_value_faults(value))
            yield _invalid(f"values[{index}][{key}]", value, detail)


def _invalid(path: str, value: str | tuple[str, ...] | None, detail: str) -> str:
    return f"{path}: Invalid value: {_quoted(value)}: {detail}"


def _quoted(value: str | tuple[str, ...] | None) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
