"""Quantities: exact amounts of a resource, read and rounded as Kubernetes does.

Go holds a small quantity as an int64 and a power of ten, and any other as a big decimal of nanos.
Which of the two decides what comes out beyond int64, so `Quantity` remembers it.

`value` and `milli_value` answer from the text and are cached: a cluster uses few distinct texts.
"""

from functools import lru_cache, total_ordering
from typing import Final, TypeVar

from moorage.api import int64, quantity_text
from moorage.api.quantity_text import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, QuantityError

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
_BINARY_SUFFIX: Final = {0: ""} | {n // 10: suffix for suffix, n in quantity_text.BINARY.items()}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in quantity_text.DECIMAL.items()}


@total_ordering
class Quantity:
    """`amount` times ten to the power of `scale`; compared and added by what it is worth."""

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
    parts = quantity_text.split(text)
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
    """Return the exact quantity in billionths; None where it is negative or far beyond int64."""
    quantity = parse(text)
    if quantity.amount < 0 or quantity.scale > _SMALL_DIGITS:
        return None if quantity.amount else 0
    return quantity._at(NANO)


def compared(number: Number, other: Number) -> Number:
    """The number after a comparison: in Go, one compared with a big decimal has become one."""
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


def _small(parts: quantity_text.Parts) -> Quantity | None:
    """Hold the quantity as Go's int64 and scale, where Go does."""
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


def _big(text: str, parts: quantity_text.Parts) -> Quantity:
    """Hold the quantity as a big decimal: rounded up to nanos, binary ones capped at int64."""
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
