"""JSON that is nested more deeply than a decoder follows: what is too deep is read as null.

Whoever may create a claim may nest its parameters some thousand levels deep. API servers take that,
and a list with one such object in it must be read all the same. No field that scheduling reads is
anywhere near as deep.
"""

import re
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

MOST_DEPTH: Final = 128

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


def decode_any_depth(decode: Callable[[bytes], T], text: bytes) -> T:
    """What `decode` makes of JSON text."""
    try:
        return decode(text)
    except RecursionError:
        return decode(cut_depths(text))


def cut_depths(text: bytes) -> bytes:
    """The same JSON text, with null for each list and each object below `MOST_DEPTH`."""
    kept, since, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        match text[token.start()]:
            case 0x5B | 0x7B:  # [ {
                if depth == MOST_DEPTH:
                    kept.append(text[since : token.start()])
                depth += 1
            case 0x5D | 0x7D:  # ] }
                depth -= 1
                if depth == MOST_DEPTH:
                    kept.append(b"null")
                    since = token.end()
    kept.append(text[since:])
    return b"".join(kept)
