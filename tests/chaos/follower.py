"""Lists and watches one resource, and hands on each change, whatever becomes of the API server."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable

import aiohttp

from tests.integration.control_plane import ControlPlane
from tests.integration.making import Raw

Hear = Callable[[str, Raw], None]
"""ADDED, MODIFIED or DELETED, and the object."""
AGAIN_SECONDS = 0.1
LONGEST_LINE = 1 << 22


class Follower:
    """After a list that came between watches, what is gone is told before what is new."""

    def __init__(self, plane: ControlPlane, path: str, hear: Hear) -> None:
        self._plane, self._path, self._hear = plane, path, hear
        self._known: dict[str, Raw] = {}
        self._version = ""

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator["Follower"]:
        """Follow, from a first list on."""
        context = ssl.create_default_context(cafile=str(self._plane.ca_file))
        headers = {"Authorization": f"Bearer {self._plane.token}"}
        async with aiohttp.ClientSession(
            self._plane.url,
            connector=aiohttp.TCPConnector(ssl=context),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
            read_bufsize=LONGEST_LINE,
        ) as session:
            await self._list(session)
            task = asyncio.ensure_future(self._run(session))
            try:
                yield self
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self, session: aiohttp.ClientSession) -> None:
        while True:
            try:
                if not self._version:
                    await self._list(session)
                await self._watch(session)
            except (aiohttp.ClientError, OSError, ValueError):
                await asyncio.sleep(AGAIN_SECONDS)

    async def _list(self, session: aiohttp.ClientSession) -> None:
        async with session.get(self._path) as answer:
            answer.raise_for_status()
            listed = await answer.json()
        found = {item["metadata"]["uid"]: item for item in listed["items"]}
        for uid in self._known.keys() - found.keys():
            self._tell("DELETED", self._known[uid])
        for item in sorted(found.values(), key=lambda each: int(_version(each))):
            known = self._known.get(item["metadata"]["uid"])
            if known is None or _version(known) != _version(item):
                self._tell("ADDED" if known is None else "MODIFIED", item)
        self._version = listed["metadata"]["resourceVersion"]

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": self._version}
        async with session.get(self._path, params=query) as answer:
            if answer.status == 410:
                self._version = ""
            answer.raise_for_status()
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self._version = ""
                    return
                self._version = _version(event["object"])
                if event["type"] != "BOOKMARK":
                    self._tell(event["type"], event["object"])

    def _tell(self, kind: str, raw: Raw) -> None:
        uid = raw["metadata"]["uid"]
        if kind == "DELETED":
            self._known.pop(uid, None)
        else:
            self._known[uid] = raw
        self._hear(kind, raw)


def _version(raw: Raw) -> str:
    return str(raw["metadata"]["resourceVersion"])
