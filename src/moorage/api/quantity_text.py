"""The grammar of quantities: a sign, a decimal number and a suffix."""

import re
from typing import Final, NamedTuple

from moorage.api import int64

BINARY_SI: Final = "BinarySI"
DECIMAL_SI: Final = "DecimalSI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL: Final = {
    "": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip

_TEXT: Final = re.compile(r"([+-]?)(0*([0-9]*)(?:\.([0-9]*))?)([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")


class QuantityError(ValueError):
    """A text that is not a quantity."""


class Parts(NamedTuple):
    """A quantity taken apart; `num` has no leading zeros but is never empty."""

    negative: bool
    number: str
    num: str
    denom: str
    exponent: int
    format: str


def split(text: str) -> Parts:
    """Take a quantity apart, or raise QuantityError."""
    match = _TEXT.fullmatch(text.strip())
    if match is None or not match.group():
        raise QuantityError(f"{text!r} is not a quantity: write a number such as 500m, 2 or 1.5Gi")
    sign, number, num, denom, suffix = match.groups()
    exponent, form = _interpret(text, suffix)
    return Parts(sign == "-", number, num or "0", denom or "", exponent, form)


def _interpret(text: str, suffix: str) -> tuple[int, str]:
    if suffix in DECIMAL:
        return DECIMAL[suffix], DECIMAL_SI
    if suffix in BINARY:
        return BINARY[suffix], BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or not int64.fits(int(match.group(1))):
        raise QuantityError(
            f"{text!r} is not a quantity: its suffix {suffix!r} is none of n u m k M G T P E, "
            "Ki Mi Gi Ti Pi Ei, nor an exponent such as e3"
        )
    return int64.wrap32(int(match.group(1))), DECIMAL_EXPONENT
