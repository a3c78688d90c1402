"""Watches: the history of a resource from a version on, as it grows."""

import asyncio
from collections.abc import AsyncGenerator

from moorage.clock import Clock
from moorage.memory import paging
from moorage.memory.history import History
from moorage.memory.store import Store
from moorage.watch.resources import Resource
from moorage.watch.surface import WatchEvent


async def watch(
    store: Store, resource: Resource, resource_version: str, alarm: "Alarm | None"
) -> AsyncGenerator[WatchEvent, None]:
    """Every change after a version; from none or "0", first what there is, as additions."""
    table = store.table(resource)
    history = table.history
    version = paging.check_reached(store, resource_version)
    if version:
        position = history.after(version)
    else:
        version, position = store.version, history.end
        for entry in table.in_order():
            if _is_of(resource, entry.key):
                yield WatchEvent("ADDED", entry.view, str(entry.version))
    try:
        while True:
            while position < history.end:
                record = history.at(position, version)
                position, version = position + 1, record.version
                if _is_of(resource, record.entry.key):
                    yield record.event
            if alarm is not None and alarm.rang(history):
                if alarm.bookmarks:
                    yield WatchEvent("BOOKMARK", None, str(store.version))
                if alarm.over:
                    return
            else:
                await history.changed()
    finally:
        if alarm is not None:
            alarm.cancel()


def _is_of(resource: Resource, key: str) -> bool:
    return not resource.only or key == resource.only


class Alarm:
    """Ends a watch when its time is up, and calls for bookmarks on the way and at the end."""

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
        """Whether it rang since last asked; the first time, it is set."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(history))
        due, self._due = self._due, False
        return due

    def cancel(self) -> None:
        """Never ring again."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, history: History) -> None:
        while not self.over:
            step = min(self._step, self._left)
            await self._clock.sleep(step)
            self._left -= step
            self.over, self._due = self._left <= 0, True
            history.wake()
