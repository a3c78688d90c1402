"""Events about pods, in kube-scheduler's words; they never delay a bind.

Recording is a call that returns at once. One task sends what was recorded; a repeated event becomes
a longer series instead of a new object, and when the API server cannot keep up the oldest events
are dropped and counted.
"""

import asyncio
from collections import OrderedDict, deque
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from moorage.api.meta import KubeObject
from moorage.clock import Clock
from moorage.watch.errors import ApiError
from moorage.watch.resources import EVENTS
from moorage.watch.surface import ApiServer

NOTE_LIMIT: Final = 1024
BACKLOG: Final = 10_000
SERIES_KEPT: Final = 4_096
SERIES_SECONDS: Final = 360.0

EventType = Literal["Normal", "Warning"]


class _Event(NamedTuple):
    about: KubeObject
    kind: str
    type: EventType
    reason: str
    action: str
    note: str
    time: float
    related: KubeObject | None


class _Series:
    __slots__ = ("count", "last", "name")

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.count = 1
        self.last = now


class EventRecorder:
    """Sends events.k8s.io/v1 events about pods."""

    def __init__(self, server: ApiServer, clock: Clock, *, instance: str) -> None:
        self._server = server
        self._clock = clock
        self._instance = instance
        self._backlog: deque[tuple[str, _Event]] = deque(maxlen=BACKLOG)
        self._something = asyncio.Event()
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self.dropped = 0
        self.sent = 0

    def record(
        self,
        controller: str,
        about: KubeObject,
        type_: EventType,
        reason: str,
        action: str,
        note: str,
        related: KubeObject | None = None,
    ) -> None:
        """Note an event; it is sent when the API server has time for it."""
        if len(self._backlog) == BACKLOG:
            self.dropped += 1
        now = self._clock.now()
        event = _Event(about, type(about).__name__, type_, reason, action, cut(note), now, related)
        self._backlog.append((controller, event))
        self._something.set()

    async def run(self) -> None:
        """Send events, one after the other, for ever."""
        while True:
            await self._something.wait()
            self._something.clear()
            await self.flush()

    async def flush(self) -> None:
        """Send what was recorded so far."""
        while self._backlog:
            controller, event = self._backlog.popleft()
            try:
                await self._send(controller, event)
                self.sent += 1
            except ApiError:
                self.dropped += 1

    async def _send(self, controller: str, event: _Event) -> None:
        key = (controller, event.about.uid, event.type, event.reason, event.action, event.note)
        series = self._series.get(key)
        if series is not None and event.time - series.last < SERIES_SECONDS:
            series.count += 1
            series.last = event.time
            await self._extend(event, series)
            return
        name = f"{event.about.name}.{int(event.time * 1e9):x}{len(self._series) % 4096:03x}"
        self._series[key] = _Series(name, event.time)
        if len(self._series) > SERIES_KEPT:
            self._series.popitem(last=False)
        await self._server.create(EVENTS, self._body(controller, event, name))

    async def _extend(self, event: _Event, series: _Series) -> None:
        patch = {"series": {"count": series.count, "lastObservedTime": stamp(event.time)}}
        namespace = event.about.namespace or "default"
        await self._server.patch(EVENTS, namespace, series.name, patch)

    def _body(self, controller: str, event: _Event, name: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": event.about.namespace or "default"},
            "eventTime": stamp(event.time),
            "reportingController": controller,
            "reportingInstance": self._instance,
            "type": event.type,
            "reason": event.reason,
            "action": event.action,
            "note": event.note,
            "regarding": _reference(event.about),
        }
        if event.related is not None:
            body["related"] = _reference(event.related)
        return body


def cut(note: str) -> str:
    """At most the bytes an API server takes, with kube's mark where something is missing."""
    raw = note.encode()
    if len(raw) <= NOTE_LIMIT:
        return note
    return raw[: NOTE_LIMIT - len(" ...")].decode(errors="ignore") + " ..."


def stamp(seconds: float) -> str:
    """A Kubernetes MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _reference(obj: KubeObject) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": type(obj).__name__,
        "name": obj.name,
        "namespace": obj.namespace,
        "uid": obj.uid,
        "resourceVersion": obj.metadata.resource_version,
    }
