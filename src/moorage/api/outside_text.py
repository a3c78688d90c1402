"""Text from outside, made safe for the place where it is written: one function for each place.

    url_path         names of namespaces and objects, as parts of a path
    request_target   what a request asks for, where it is written: the last line of defence
    header           a header of a request
    printable        what a terminal or a log shows

Files are named by numbers and by what the operator gives, never by such text.
"""

import re
from typing import Final
from urllib.parse import quote

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_IN_A_LINE: Final = re.compile(r"[\x00-\x20\x7f]")
_NOT_IN_A_HEADER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def url_path(*parts: str) -> str:
    """A path of these parts, each of them quoted; ValueError if one would name another folder."""
    if "." in parts or ".." in parts:
        raise ValueError("a name must not be '.' or '..'")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def request_target(target: str) -> str:
    """What a request asks for; ValueError if it would end the request, or begin another one."""
    if _NOT_IN_A_LINE.search(target):
        raise ValueError(f"{target!r} holds a space or a control character")
    return target


def header(name: str, value: str) -> str:
    """One line of a header; ValueError if it would end before its end."""
    if _NOT_IN_A_HEADER.search(name) or _NOT_IN_A_HEADER.search(value):
        raise ValueError(f"the header {name!r} holds a line break or a control character")
    return f"{name}: {value}\r\n"


def printable(text: str) -> str:
    """The text with control characters escaped, as in JSON; a terminal would obey them.

    Only tabs and line breaks stay.
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
