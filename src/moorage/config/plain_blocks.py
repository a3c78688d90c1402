"""Equal blocks of plain YAML are read once: a thousand pods of one workload repeat their spec.

A large mapping is divided at its keys, a large list at its dashes. The value of a part of several
lines is cached by its text. Parts that are not large are read line by line. Callers must not change
the value of a document: equal parts of it are one object.
"""

import re
from collections import OrderedDict
from functools import lru_cache
from typing import Any, Final

from moorage.config.plain_yaml import NOT_PLAIN, PlainReader, Resolve, entry_at

LARGE: Final = 250
"""Parts of at least this many characters are divided."""
SMALL: Final = 32
"""Values of parts of at most this many characters are not cached."""
BLOCKS_KEPT: Final = 4096
_DEEPEST: Final = 20
_NO_BLOCK: Final = object()
_FIRST: Final = re.compile(r"( *)(- )?(?=[A-Za-z0-9_])")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}")
_KEY: Final = re.compile(r" *[A-Za-z0-9_][A-Za-z0-9_./-]*:(?: |$)", re.MULTILINE)


class BlockReader:
    """Reads plain documents as a PlainReader does, and equal blocks once."""

    def __init__(self, resolve: Resolve, large: int = LARGE, small: int = SMALL) -> None:
        self._plain = PlainReader(resolve)
        self._large = large
        self._small = small
        self._known: OrderedDict[str, Any] = OrderedDict()

    def read(self, text: str) -> Any:
        """The value of one document, without its separators; or NOT_PLAIN."""
        found = self._divided(text, 0)
        return self._plain.read(text) if found is _NO_BLOCK else found

    def _value(self, text: str, depth: int) -> Any:
        """The value of a part of a document."""
        known = self._known.get(text, _NO_BLOCK)
        if known is not _NO_BLOCK:
            self._known.move_to_end(text)
            return known
        found = self._divided(text, depth) if len(text) >= self._large else _NO_BLOCK
        if found is _NO_BLOCK:
            found = self._plain.read(text)
        self._known[text] = found
        if len(self._known) > BLOCKS_KEPT:
            self._known.popitem(last=False)
        return found

    def _divided(self, text: str, depth: int) -> Any:
        """A mapping or a list, part by part; _NO_BLOCK if it must be read line by line."""
        first = _FIRST.match(text)
        if first is None or depth > _DEEPEST:
            return _NO_BLOCK
        column = len(first[1])
        if first[2]:
            return self._list(text, column, depth)
        return self._mapping(text, column, depth)

    def _mapping(self, text: str, column: int, depth: int) -> Any:
        found: dict[str, Any] = {}
        starts = [match.start() + 1 for match in _keys_at(column).finditer(text)]
        entry, scalar = entry_at(column).fullmatch, self._plain.scalar
        start = 0
        for following in (*starts, len(text) + 1):
            end = following - 1
            alone = entry(text, start, end)
            if alone is not None:
                key, quoted, plain = alone.groups()
                if key in found:
                    return NOT_PLAIN
                found[key] = quoted[1:-1] if quoted else scalar(plain)
                start = following
                continue
            part, start = text[start:end], following
            key, colon, body = part.partition(":\n")
            if not colon or not _NAME.fullmatch(key, column):
                read = self._value(part, depth + 1)
                if not isinstance(read, dict) or len(read) != 1 or read.keys() & found.keys():
                    return NOT_PLAIN
                found.update(read)
                continue
            value = self._body(part, body, column, depth)
            if value is NOT_PLAIN or key[column:] in found:
                return NOT_PLAIN
            found[key[column:]] = value
        return found

    def _body(self, part: str, body: str, column: int, depth: int) -> Any:
        """The value of a key whose lines follow it."""
        first = _FIRST.match(body)
        within = first is not None and len(first[1]) >= column + (not first[2])
        if within and len(part) > self._small:
            return self._value(body, depth + 1)
        read = self._plain.read(part)
        return next(iter(read.values())) if isinstance(read, dict) and len(read) == 1 else NOT_PLAIN

    def _list(self, text: str, column: int, depth: int) -> Any:
        starts = [0, *(match.start() + 1 for match in _dashes_at(column).finditer(text))]
        if text.count("\n" + " " * column + "-") != len(starts) - 1:
            return _NO_BLOCK  # an item of another form
        found = []
        for start, end in zip(starts, (*starts[1:], len(text) + 1), strict=True):
            item = f"{' ' * (column + 2)}{text[start + column + 2 : end - 1]}"
            if not _KEY.match(item):
                return _NO_BLOCK
            value = self._value(item, depth + 1)
            if not isinstance(value, dict):
                return NOT_PLAIN
            found.append(value)
        return found


@lru_cache(maxsize=64)
def _keys_at(column: int) -> re.Pattern[str]:
    return re.compile(rf"\n{' ' * column}(?=[A-Za-z0-9_])")


@lru_cache(maxsize=64)
def _dashes_at(column: int) -> re.Pattern[str]:
    return re.compile(rf"\n{' ' * column}- (?=[A-Za-z0-9_])")
