"""CEL's values that Python does not have, and its notion of equality."""

import re
from functools import total_ordering
from typing import Any, Final

from moorage.api import quantity
from moorage.api.quantity import Quantity

_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_LONGEST_VERSION: Final = 4096
"""Python reads no longer numbers, either."""
COST_LIMIT: Final = 1_000_000
"""What one selector may cost on one device."""
_MOST: Final = (1 << 64) - 1


class CelError(Exception):
    """An expression that could not be evaluated; `&&` and `||` may still know their answer."""


class CostLimitError(Exception):
    """An expression that costs more than it may; nothing absorbs it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@total_ordering
class Semver:
    """A semantic version; build metadata has no say in its order."""

    __slots__ = ("build", "key", "pre", "release")

    def __init__(self, text: str) -> None:
        match = _SEMVER.fullmatch(text) if len(text) <= _LONGEST_VERSION else None
        if match is None:
            raise CelError(f"invalid semantic version {text!r}")
        major, minor, patch, pre, self.build = match.groups()
        self.release = (int(major), int(minor), int(patch))
        self.pre = pre.split(".") if pre else []
        if max(self.release) > _MOST or any(_is_padded(part) for part in self.pre):
            raise CelError(f"invalid semantic version {text!r}")
        self.key = (self.release, not self.pre, [_identifier(part) for part in self.pre])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: "Semver") -> bool:
        return self.key < other.key

    __hash__ = None  # type: ignore[assignment]


def normalized_semver(text: str) -> str:
    """The version without a leading `v` and leading zeros, and with the parts left out."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(letter in parts[-1] for letter in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0") if len(part) > 1 else part
    return stripped if stripped[:1].isdigit() or len(part) <= 1 else "0" + stripped


def _is_padded(part: str) -> bool:
    return part.isdigit() and len(part) > 1 and part[0] == "0"


def _identifier(part: str) -> tuple[int, int, str]:
    """Numbers come before words."""
    return (0, int(part), "") if part.isdigit() else (1, 0, part)


class Optional:
    """A value that may be absent."""

    __slots__ = ("has_value", "value")

    def __init__(self, value: Any = None, *, has_value: bool = True) -> None:
        self.value = value
        self.has_value = has_value


NOTHING: Final = Optional(has_value=False)


class DefaultMap(dict[str, Any]):
    """Domains of attributes or capacities: one that is not there reads as empty."""

    __slots__ = ()


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """CEL's `==`: numbers by what they are worth, anything else only with its own kind."""
    if is_number(left) or is_number(right):
        return is_number(left) and is_number(right) and left == right
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(equal(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and equal(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, Optional) and isinstance(right, Optional):
        both = left.has_value and right.has_value
        return equal(left.value, right.value) if both else left.has_value == right.has_value
    return type(left) is type(right) and bool(left == right)


def parse_quantity(text: str) -> Quantity:
    try:
        return quantity.parse(text)
    except quantity.QuantityError as error:
        raise CelError(str(error)) from None


def no_overload(*args: Any) -> CelError:
    return CelError(f"no such overload: ({', '.join(type_name(arg) for arg in args)})")


def type_name(value: Any) -> str:
    """The name of a value's type, as CEL's errors give it."""
    known = getattr(type(value), "cel_type", None)
    return known or next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "dyn")


_TYPE_NAMES: Final[tuple[tuple[Any, str], ...]] = (
    (type(None), "null_type"),
    (bool, "bool"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (Optional, "optional_type"),
)
