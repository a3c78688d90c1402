"""Lists, paged at one version, and watches that read a resource's history."""

import asyncio
import base64
import binascii
import itertools
from collections import OrderedDict
from collections.abc import AsyncGenerator

import msgspec

from moorage.api.annotations import read_int
from moorage.clock import Clock
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import History, Record, Store, Table, Wants
from moorage.watch.api_errors import TOO_LARGE_VERSION, BadRequest, Gone, VersionTooLarge
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Page, WatchEvent

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You must "
    "start a new list without the continue parameter."
)


class _Token(msgspec.Struct, frozen=True):
    list: int
    version: int
    start: int


class Lister:
    """Answers lists, and keeps the last few lists that are being read in pages."""

    def __init__(self, store: Store, kept: int) -> None:
        self._store = store
        self._kept = kept
        self._lists = itertools.count(1)
        self._snapshots: OrderedDict[int, list[Entry]] = OrderedDict()

    def page(
        self, resource: Resource, limit: int, continue_token: str, resource_version: str
    ) -> Page:
        """One page of a list: the first, or the one that the continue token names."""
        table = self._store.table(resource)
        if continue_token:
            token = _decode(continue_token)
            return self._cut(self._snapshot(table, token), token, limit)
        check_resource_version(self._store, resource_version)
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
        """The list that a token continues; Gone if it, or the changes since, are not kept."""
        if table.history.has_expired(token.version):
            self._snapshots.pop(token.list, None)
        if token.list not in self._snapshots:
            raise Gone(CONTINUE_EXPIRED)
        return self._snapshots[token.list]

    def _cut(self, entries: list[Entry], token: _Token, limit: int) -> Page:
        end = token.start + limit if limit else len(entries)
        more = end < len(entries)
        if not more:
            self._snapshots.pop(token.list, None)
        following = _encode(_Token(token.list, token.version, end)) if more else ""
        items = tuple(entry.view for entry in entries[token.start : end])
        return Page(items, str(token.version), following)


def check_resource_version(store: Store, resource_version: str) -> int:
    """The version as a number; refuses text that is no version, and versions in the future."""
    version = read_int(resource_version or "0")
    if version is None:
        raise BadRequest(f'Invalid value: "{resource_version}": strconv.ParseUint: invalid syntax')
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


async def watch_changes(
    store: Store,
    resource: Resource,
    resource_version: str,
    alarm: "WatchTimer | None",
    wants: Wants | None = None,
) -> AsyncGenerator[WatchEvent, None]:
    """Every change after a version. From "" or "0": first the existing objects, as ADDED events.

    A watch with `wants` yields only those records, and is not woken by others.
    """
    table = store.table(resource)
    history = table.history
    version = check_resource_version(store, resource_version)
    if version:
        position = history.after(version)
    else:
        version, position = store.version, history.end
        for entry in table.in_order():
            if _is_selected(resource, entry.key) and (
                wants is None or wants(Record("ADDED", entry))
            ):
                yield WatchEvent("ADDED", entry.view, str(entry.version))
    try:
        while True:
            while position < history.end:
                record = history.at(position, version)
                position, version = position + 1, record.version
                if _is_selected(resource, record.entry.key) and (wants is None or wants(record)):
                    yield record.event
            if alarm is not None and alarm.rang(history):
                if alarm.bookmarks:
                    yield WatchEvent("BOOKMARK", None, str(store.version))
                if alarm.over:
                    return
            else:
                position += await history.changed(wants)
    finally:
        if alarm is not None:
            alarm.cancel()


def _is_selected(resource: Resource, key: str) -> bool:
    return not resource.only or key == resource.only


class WatchTimer:
    """Ends a watch after its timeout, and triggers bookmarks meanwhile and at the end."""

    def __init__(
        self, clock: Clock, timeout_seconds: float, bookmark_seconds: float, bookmarks: bool
    ) -> None:
        self.bookmarks = bookmarks
        self.over = False
        self._clock = clock
        self._left = timeout_seconds
        self._step = bookmark_seconds if bookmarks else timeout_seconds
        self._due = False
        self._task: asyncio.Task[None] | None = None

    def rang(self, history: History) -> bool:
        """Whether the timer fired since the last call; the first call starts it."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(history))
        due, self._due = self._due, False
        return due

    def cancel(self) -> None:
        """Stop the timer."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, history: History) -> None:
        while not self.over:
            step = min(self._step, self._left)
            await self._clock.sleep(step)
            self._left -= step
            self.over, self._due = self._left <= 0, True
            history.wake()
