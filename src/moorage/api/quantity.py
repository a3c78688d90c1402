"""Quantities: exact amounts of a resource, read and rounded as Kubernetes does.

Go holds a small quantity as an int64 and a power of ten, and any other as a big decimal of nanos.
The two overflow int64 differently, so `Quantity` remembers which of them Go would use. `value` and
`milli_value` work on the text and are cached: a cluster has few distinct texts.
"""

import re
from functools import lru_cache, total_ordering
from typing import Final, NamedTuple, TypeVar

from moorage.api import int64

BINARY_SI: Final = "BinarySI"
DECIMAL_SI: Final = "DecimalSI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL_SUFFIXES: Final = {
    "": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip

_TEXT: Final = re.compile(r"([+-]?)(0*([0-9]*)(?:\.([0-9]*))?)([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")


MOST_CHARACTERS: Final = 1000
"""A longer text is no quantity here. Kubernetes has no limit; Python reads 4,300 digits at most."""


class QuantityError(ValueError):
    """A text that is not a quantity."""


class QuantityParts(NamedTuple):
    """The parts of a quantity; `num` has no leading zeros but is never empty."""

    negative: bool
    number: str
    num: str
    denom: str
    exponent: int
    format: str


def split_quantity(text: str) -> QuantityParts:
    """Split a quantity into its parts, or raise QuantityError."""
    if len(text) > MOST_CHARACTERS:
        raise QuantityError(
            f"{text[:20]!r}... is not a quantity: it has {len(text):,} characters, "
            f"and at most {MOST_CHARACTERS:,} are read"
        )
    match = _TEXT.fullmatch(text.strip())
    if match is None or not match.group():
        raise QuantityError(f"{text!r} is not a quantity: write a number such as 500m, 2 or 1.5Gi")
    sign, number, num, denom, suffix = match.groups()
    exponent, form = _interpret_suffix(text, suffix)
    return QuantityParts(sign == "-", number, num or "0", denom or "", exponent, form)


def _interpret_suffix(text: str, suffix: str) -> tuple[int, str]:
    if suffix in DECIMAL_SUFFIXES:
        return DECIMAL_SUFFIXES[suffix], DECIMAL_SI
    if suffix in BINARY_SUFFIXES:
        return BINARY_SUFFIXES[suffix], BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or not int64.fits(int(match.group(1))):
        raise QuantityError(
            f"{text!r} is not a quantity: its suffix {suffix!r} is none of n u m k M G T P E, "
            "Ki Mi Gi Ti Pi Ei, nor an exponent such as e3"
        )
    return int64.wrap32(int(match.group(1))), DECIMAL_EXPONENT


__all__ = [
    "BINARY_SI",
    "DECIMAL_EXPONENT",
    "DECIMAL_SI",
    "Quantity",
    "QuantityError",
    "compared",
    "format",
    "milli_value",
    "nanos",
    "parse",
    "value",
]

NANO: Final = -9
MILLI: Final = -3

_CACHED: Final = 1 << 16
_SMALL_DIGITS: Final = 18
_MOST_DIGITS: Final = 1000
_BINARY_SUFFIX: Final = {0: ""} | {n // 10: suffix for suffix, n in BINARY_SUFFIXES.items()}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in DECIMAL_SUFFIXES.items()}


@total_ordering
class Quantity:
    """`amount` times ten to the power of `scale`; compared and added by value."""

    __slots__ = ("amount", "big", "form", "scale")

    def __init__(
        self, amount: int, scale: int = 0, form: str = DECIMAL_SI, *, big: bool = False
    ) -> None:
        self.amount = amount
        self.scale = scale
        self.form = form
        self.big = big

    @property
    def value(self) -> int:
        """The amount in whole units, rounded up; beyond int64, what Go's Value gives."""
        return self._rescaled(0)

    @property
    def milli_value(self) -> int:
        """The amount in thousandths, rounded up; beyond int64, what Go's MilliValue gives."""
        return self._rescaled(MILLI)

    def _rescaled(self, scale: int) -> int:
        rescale = int64.rescale_big if self.big else int64.rescale_small
        return rescale(self.amount, self.scale - scale)

    def __add__(self, other: "Quantity") -> "Quantity":
        scale = self._common_scale(other)
        total = self._at(scale) + other._at(scale)
        big = self.big or other.big or not int64.fits(total)
        return Quantity(total, scale, self.form if self.amount else other.form, big=big)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        scale = self._common_scale(other)
        return self._at(scale) == other._at(scale)

    def __lt__(self, other: "Quantity") -> bool:
        scale = self._common_scale(other)
        return self._at(scale) < other._at(scale)

    def __hash__(self) -> int:
        amount, times = _without_factors(self.amount, 10)
        return hash((amount, self.scale + times if amount else 0))

    def __str__(self) -> str:
        return format(self)

    def __repr__(self) -> str:
        return f"Quantity({format(self)!r})"

    def _common_scale(self, other: "Quantity") -> int:
        if not self.amount:
            return other.scale
        return min(self.scale, other.scale) if other.amount else self.scale

    def _at(self, scale: int) -> int:
        return self.amount * 10 ** (self.scale - scale) if self.amount else 0


Number = TypeVar("Number", int, Quantity)


@lru_cache(maxsize=_CACHED)
def parse(text: str) -> Quantity:
    """Read a quantity; raise QuantityError for a text that Kubernetes refuses."""
    parts = split_quantity(text)
    small = _small(parts)
    return small if small is not None else _big(text, parts)


@lru_cache(maxsize=_CACHED)
def value(text: str) -> int:
    """Return the quantity in whole units, rounded up."""
    return parse(text).value


@lru_cache(maxsize=_CACHED)
def milli_value(text: str) -> int:
    """Return the quantity in thousandths, rounded up."""
    return parse(text).milli_value


@lru_cache(maxsize=_CACHED)
def nanos(text: str) -> int | None:
    """Return the exact quantity in billionths; None if it is negative or far beyond int64."""
    quantity = parse(text)
    if quantity.amount < 0 or quantity.scale > _SMALL_DIGITS:
        return None if quantity.amount else 0
    return quantity._at(NANO)


def compared(number: Number, other: Number) -> Number:
    """The number after a comparison; in Go, comparing with a big decimal makes it one, too."""
    match number, other:
        case Quantity(), Quantity(big=True):
            return Quantity(number.amount, number.scale, number.form, big=True)
    return number


def format(quantity: Quantity) -> str:
    """Write a quantity in canonical form: no fraction, the largest suffix that keeps it exact."""
    if not quantity.amount:
        return "0"
    if quantity.form == BINARY_SI and not Quantity(-1024) < quantity < Quantity(1024):
        whole, fraction = divmod(quantity._at(NANO), 10**9)
        if not fraction:
            amount, times = _without_factors(whole, 1024, most=6)
            return f"{amount}{_BINARY_SUFFIX[times]}"
    return _format_decimal(quantity)


def _format_decimal(quantity: Quantity) -> str:
    amount, times = _without_factors(quantity.amount, 10)
    exponent = quantity.scale + times
    floor = exponent - exponent % 3
    if quantity.form == DECIMAL_EXPONENT:
        return f"{amount * 10 ** (exponent - floor)}{f'e{floor}' if floor else ''}"
    floor = min(floor, _SMALL_DIGITS)
    return f"{amount * 10 ** (exponent - floor)}{_DECIMAL_SUFFIX[floor]}"


def _without_factors(number: int, factor: int, most: int = _MOST_DIGITS) -> tuple[int, int]:
    times = 0
    while number and times < most and number % factor == 0:
        number //= factor
        times += 1
    return number, times


def _small(parts: QuantityParts) -> Quantity | None:
    """The quantity as Go's int64 and scale, or None if Go does not hold it so."""
    sign = -1 if parts.negative else 1
    if parts.format == BINARY_SI:
        digits = 14 - len(parts.num) - parts.exponent * 3 // 10
        amount, scale = int(parts.num) << parts.exponent, 0
        if digits < 0 or parts.denom or not int64.fits(amount):
            return None
    else:
        scale = parts.exponent - len(parts.denom)
        if len(parts.num) + len(parts.denom) > _SMALL_DIGITS or scale < NANO:
            return None
        amount = int(parts.num + parts.denom)
    return Quantity(sign * amount, min(scale, _MOST_DIGITS), parts.format)


def _big(text: str, parts: QuantityParts) -> Quantity:
    """The quantity as a big decimal: rounded up to nanos, binary ones capped at int64."""
    if not any(c.isdigit() for c in parts.number):
        raise QuantityError(f"{text!r} is not a quantity: it has no digits")
    binary = parts.format == BINARY_SI
    amount = int(parts.num + parts.denom) << (parts.exponent if binary else 0)
    scale = min((0 if binary else parts.exponent) - len(parts.denom), _MOST_DIGITS)
    amount = _at_nanos(amount, scale)
    form = DECIMAL_SI if binary and amount < 10**9 else parts.format
    if binary and amount > int64.MAX * 10**9:
        amount, scale = int64.MAX, 0
    else:
        scale = NANO
    return Quantity(-amount if parts.negative else amount, scale, form, big=True)


def _at_nanos(amount: int, scale: int) -> int:
    if scale >= NANO:
        shifted: int = amount * 10 ** (scale - NANO)
        return shifted
    divisor: int = 10 ** min(NANO - scale, len(str(amount)) + 1)
    return -(-amount // divisor)
