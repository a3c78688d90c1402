"""A fast reader of plain manifests: YAML as people and kubectl mostly write it.

A plain document has block mappings and lists whose lines each consist of `- `s, a `key:` and a
value: words, a number, quoted text without escapes, `{}` or `[]`; comments; printable ASCII.
Everything else (anchors, tags, block scalars, flow collections, continued lines, tabs, keys set
twice, odd indentation) is NOT_PLAIN, and is left to libyaml. A property test checks that plain
documents read the same in libyaml; here they take a fraction of the time.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

NOT_PLAIN: Final = object()
"""The answer for a text that is not plain; it may be valid or invalid YAML."""

_LINE: Final = re.compile(
    r"^( *)((?:- +)*)"  # indentation, dashes
    r"(?:([A-Za-z0-9_][A-Za-z0-9_./-]{0,200}):(?: +|$))?"  # key
    r"(?!.*:(?: |$))"
    r"(?:(\"[ !#-\[\]-~]*\"|'[ -&(-~]*')"  # quoted
    r"|((?![+-]?\.[iInN])"  # infinity, not a number
    r"(?:[A-Za-z0-9_/]|[.+-](?=[A-Za-z0-9_./]))[A-Za-z0-9_./+=@,*: -]*)"  # plain
    r"|(\{\}|\[\]))?"  # empty
    r" *(?:(?<![^ \n])#[ -~]*)?$",
    re.MULTILINE,
)
_DEEPEST: Final = 100
_QUANTITY: Final = re.compile(r"[1-9][0-9]*[A-Za-z]+")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_MAYBE_NO_TEXT: Final = frozenset("0123456789.+-")
_NO_TEXT: Final = frozenset(("y", "n", "yes", "no", "true", "false", "on", "off", "null"))

Resolve = Callable[[str], Any]


@lru_cache(maxsize=64)
def entry_at(column: int) -> re.Pattern[str]:
    """A line of a key at a column and a value, in groups: key, quoted, plain; no comment."""
    return re.compile(
        rf" {{{column}}}([A-Za-z0-9_][A-Za-z0-9_./-]{{0,200}}): +"
        r"(?!.*:(?: |$))"
        r"(?:(\"[ !#-\[\]-~]*\"|'[ -&(-~]*')"
        r"|((?![+-]?\.[iInN])(?:[A-Za-z0-9_/]|[.+-](?=[A-Za-z0-9_./]))[A-Za-z0-9_./+=@,*: -]*))"
    )


class _Open:
    """A mapping or a list that further lines may add to."""

    __slots__ = ("column", "is_list", "key", "value", "waits")

    def __init__(self, column: int, value: Any, is_list: bool, waits: bool = False) -> None:
        self.column = column
        self.value = value
        self.is_list = is_list
        self.waits = waits
        """Whether a value must follow: for `key`, or for the item whose dash was read."""
        self.key = ""

    def put(self, value: Any) -> None:
        if self.is_list:
            self.value.append(value)
        else:
            self.value[self.key] = value
        self.waits = False


class PlainReader:
    """Reads plain documents; `resolve` gives the value of a word that may not be text."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._known: dict[str, Any] = {}

    def read(self, text: str) -> Any:
        """The value of one document, without its separators; or NOT_PLAIN."""
        rows = _LINE.findall(text)
        if len(rows) != text.count("\n") + 1:
            return NOT_PLAIN
        root = _Open(-1, [], is_list=True, waits=True)
        stack = [root]
        for indent, dashes, key, quoted, plain, empty in rows:
            if not (dashes or key):
                if quoted or plain or empty:
                    return NOT_PLAIN
                continue
            column = len(indent)
            if dashes and not _open_items(stack, column, dashes):
                return NOT_PLAIN
            if key and not _open_key(stack, column + len(dashes), key):
                return NOT_PLAIN
            if len(stack) > _DEEPEST:
                return NOT_PLAIN
            if quoted:
                stack[-1].put(quoted[1:-1])
            elif plain:
                stack[-1].put(self.scalar(plain))
            elif empty:
                stack[-1].put({} if empty == "{}" else [])
            elif not key:
                return NOT_PLAIN
        return root.value[0] if root.value else None

    def scalar(self, text: str) -> Any:
        """The value of a plain word, or of several."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._resolved(text.rstrip(" "))
        return found

    def _resolved(self, text: str) -> Any:
        if text[0] in _MAYBE_NO_TEXT:
            if _NUMBER.fullmatch(text):
                return int(text)
            return text if _QUANTITY.fullmatch(text) else self._resolve(text)
        return self._resolve(text) if text.lower() in _NO_TEXT else text


def _open_items(stack: list[_Open], column: int, dashes: str) -> bool:
    """Begin an item for each dash; False if none is allowed here."""
    return all(
        _open_item(stack, column + place) for place, char in enumerate(dashes) if char == "-"
    )


def _open_item(stack: list[_Open], column: int) -> bool:
    while stack[-1].column > column:
        stack.pop()
    top = stack[-1]
    if not (top.is_list and top.column == column):
        if not top.waits:
            return False
        _open(stack, _Open(column, [], is_list=True))
    stack[-1].waits = True
    return True


def _open_key(stack: list[_Open], column: int, key: str) -> bool:
    """Begin a key; False if none is allowed here, or it is set already."""
    while stack[-1].column > column or (stack[-1].column == column and stack[-1].is_list):
        stack.pop()
    if stack[-1].column != column:
        if not stack[-1].waits:
            return False
        _open(stack, _Open(column, {}, is_list=False))
    top = stack[-1]
    if key in top.value:
        return False
    top.value[key], top.key, top.waits = None, key, True
    return True


def _open(stack: list[_Open], opened: _Open) -> None:
    stack[-1].put(opened.value)
    stack.append(opened)
