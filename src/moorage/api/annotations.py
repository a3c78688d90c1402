"""Reads numbers and JSON in labels and annotations, within limits.

Whoever may create a pod writes them, and the API server checks nothing but their length. A text
that cannot be read is None, as if it were not there. So is one of other scripts' digits (`²`), of
too many digits, or beyond what its reader can count.
"""

import re
from typing import Final, TypeVar

import msgspec

from moorage.api import int64

MOST_JSON_BYTES: Final = 65_536

_NUMBER: Final = re.compile(r"[0-9]{1,19}")

Value = TypeVar("Value")


def read_int(text: str | None, least: int = 0, most: int = int64.MAX) -> int | None:
    """A whole number without a sign, from `least` to `most`."""
    if text is None or _NUMBER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if least <= number <= most else None


def read_ints(
    text: str | None, separator: str, *, most: int, most_numbers: int
) -> tuple[int, ...] | None:
    """Whole numbers up to `most`, with spaces around them or not."""
    if text is None or len(text) > 32 * most_numbers:
        return None
    numbers = [read_int(part.strip(), most=most) for part in text.split(separator)]
    if len(numbers) > most_numbers:
        return None
    found = tuple(number for number in numbers if number is not None)
    return found if len(found) == len(numbers) else None


def read_json(
    text: str | None, shape: type[Value], most_bytes: int = MOST_JSON_BYTES
) -> Value | None:
    """JSON of a shape that msgspec knows."""
    if text is None or len(text) > most_bytes:
        return None
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
