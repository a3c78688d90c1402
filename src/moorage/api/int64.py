"""Go's int64: which numbers fit, how they wrap, and how quantities are rescaled into it.

Scales are powers of ten; `shift` is the power to multiply by, or to divide by if it is negative.
"""

from typing import Final

MAX: Final = (1 << 63) - 1
MIN: Final = -(1 << 63)

_WRAPPING_SHIFTS: Final = frozenset((1, 2, 3, 6, 9))
_MOST_DIGITS: Final = 19


def fits(number: int) -> bool:
    """Say whether the number is an int64."""
    return MIN <= number <= MAX


def wrap(number: int) -> int:
    """Keep the low 64 bits, as Go's arithmetic does."""
    return ((number - MIN) & ((1 << 64) - 1)) + MIN


def wrap32(number: int) -> int:
    """Keep the low 32 bits, as Go's conversion to int32 does."""
    return ((number + (1 << 31)) & ((1 << 32) - 1)) - (1 << 31)


def of_float(number: float) -> int:
    """Convert as Go does on amd64: towards zero; what does not fit becomes the smallest int64."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else MIN


def rescale_small(amount: int, shift: int) -> int:
    """Rescale an int64, rounding away from zero; beyond int64 Go wraps or gives 0, by the shift."""
    if shift < 0:
        magnitude: int = -(-abs(amount) // 10**-shift)
        return magnitude if amount >= 0 else -magnitude
    exact: int = amount * 10**shift
    if fits(exact):
        return exact
    return wrap(exact) if shift in _WRAPPING_SHIFTS else 0


def rescale_big(amount: int, shift: int) -> int:
    """Rescale a big decimal as Go does: the fraction rounds towards +infinity, the rest wraps."""
    if shift >= 0:
        factor = 10**shift if shift < _MOST_DIGITS else MIN
        return wrap(_low(amount) * factor) if shift else _low(amount)
    if amount < MAX and -shift < _MOST_DIGITS:
        return _divide(_low(amount), 10**-shift)
    quotient, remainder = divmod(amount, 10**-shift)
    return wrap(_low(quotient) + bool(remainder))


def _divide(amount: int, divisor: int) -> int:
    quotient, remainder = divmod(abs(amount), divisor)
    return (quotient if amount >= 0 else -quotient) + bool(remainder)


def _low(number: int) -> int:
    magnitude = wrap(abs(number) & ((1 << 64) - 1))
    return magnitude if number >= 0 else wrap(-magnitude)
