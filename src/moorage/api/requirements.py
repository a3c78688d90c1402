"""One requirement on labels: its checks, its canonical form, and whether labels meet it."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moorage.api import int64
from moorage.api.names import is_label_value, is_qualified_name

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GT: Final = "Gt"
LT: Final = "Lt"

_SETS: Final = (IN, NOT_IN)
_COMPARISONS: Final = (GT, LT)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


class SelectorError(ValueError):
    """A selector that Kubernetes refuses."""


class Requirement(NamedTuple):
    """A key, an operator and its values, sorted and without duplicates."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether the labels meet the requirement."""
        return all_match((self,), labels)

    def __str__(self) -> str:
        if self.operator == EXISTS:
            return self.key
        if self.operator == DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in _COMPARISONS:
            return f"{self.key}{'>' if self.operator == GT else '<'}{self.values[0]}"
        if self.operator == IN and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {'in' if self.operator == IN else 'notin'} ({','.join(self.values)})"


def check(key: str, operator: str, values: Iterable[str]) -> Requirement:
    """Make a requirement in canonical form, or raise SelectorError naming all that is wrong."""
    values = tuple(values)
    problems = [*_key_problems(key), *_count_problems(operator, values), *_value_problems(values)]
    if problems:
        raise SelectorError(f"requirement {key!r} {operator} {list(values)}: {'; '.join(problems)}")
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
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if int64.fits(number) else None


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    number = None if value is None else parse_int64(value)
    if number is None:
        return False
    return number > int(values[0]) if operator == GT else number < int(values[0])


def _key_problems(key: str) -> Iterable[str]:
    if not is_qualified_name(key):
        yield "the key is not a label key"


def _count_problems(operator: str, values: tuple[str, ...]) -> Iterable[str]:
    if operator in _SETS:
        if not values:
            yield f"{operator} needs at least one value"
    elif operator in _COMPARISONS:
        if len(values) != 1:
            yield f"{operator} needs exactly one value"
        if any(parse_int64(value) is None for value in values):
            yield f"{operator} compares whole numbers only"
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            yield f"{operator} takes no values"
    else:
        yield f"{operator!r} is not an operator"


def _value_problems(values: tuple[str, ...]) -> Iterable[str]:
    for value in values:
        if not is_label_value(value):
            yield f"{value!r} is not a label value"
