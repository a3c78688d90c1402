"""Lists, whole or page by page; all pages of a list show the objects as they were at its start."""

import base64
import binascii
import itertools
from collections import OrderedDict

import msgspec

from moorage.memory.entries import Entry
from moorage.memory.store import Store, Table
from moorage.watch.errors import TOO_LARGE_VERSION, BadRequest, Gone, VersionTooLarge
from moorage.watch.resources import Resource
from moorage.watch.surface import Page

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You must "
    "start a new list without the continue parameter."
)


class _Token(msgspec.Struct, frozen=True):
    list: int
    version: int
    start: int


class Lister:
    """Answers lists, and keeps the last few that are being read in pages."""

    def __init__(self, store: Store, kept: int) -> None:
        self._store = store
        self._kept = kept
        self._lists = itertools.count(1)
        self._snapshots: OrderedDict[int, list[Entry]] = OrderedDict()

    def page(
        self, resource: Resource, limit: int, continue_token: str, resource_version: str
    ) -> Page:
        """One page: the first, or the one that a token asks for."""
        table = self._store.table(resource)
        if continue_token:
            token = _decode(continue_token)
            return self._cut(self._snapshot(table, token), token, limit)
        check_reached(self._store, resource_version)
        token = _Token(next(self._lists), self._store.version, 0)
        entries = [e for e in table.in_order() if not resource.only or e.key == resource.only]
        if limit and limit < len(entries):
            self._keep(token, entries)
        return self._cut(entries, token, limit)

    def _keep(self, token: _Token, entries: list[Entry]) -> None:
        self._snapshots[token.list] = entries
        while len(self._snapshots) > self._kept:
            self._snapshots.popitem(last=False)

    def _snapshot(self, table: Table, token: _Token) -> list[Entry]:
        """The list that a token continues, while the changes since are still known."""
        if table.history.has_expired(token.version):
            self._snapshots.pop(token.list, None)
        if token.list not in self._snapshots:
            raise Gone(EXPIRED)
        return self._snapshots[token.list]

    def _cut(self, entries: list[Entry], token: _Token, limit: int) -> Page:
        end = token.start + limit if limit else len(entries)
        more = end < len(entries)
        if not more:
            self._snapshots.pop(token.list, None)
        following = _encode(_Token(token.list, token.version, end)) if more else ""
        items = tuple(entry.view for entry in entries[token.start : end])
        return Page(items, str(token.version), following)


def check_reached(store: Store, resource_version: str) -> int:
    """The number of a version; it must be one, and not lie in the future."""
    if not resource_version.isdecimal() and resource_version:
        raise BadRequest(f'Invalid value: "{resource_version}": strconv.ParseUint: invalid syntax')
    version = int(resource_version or 0)
    if version > store.version:
        raise VersionTooLarge(f"Timeout: {TOO_LARGE_VERSION}: {version}, current: {store.version}")
    return version


def _encode(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _decode(text: str) -> _Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=_Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadRequest(f"continue key is not valid: {text}") from None
