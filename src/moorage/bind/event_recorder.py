"""Sends events.k8s.io events in kube-scheduler's words, without delaying a bind.

Recording is a call that returns at once. A few tasks send what was recorded, and more of them when
much waits, so that a busy API server delays events and loses none; when it cannot keep up, the
oldest are dropped and counted. What it refuses is dropped, counted and told now and then. What
waits names its object and does not hold it.

A repeated event becomes a longer series instead of a new object. Its second time is told at once,
further ones are counted and told from time to time, less and less often, and none while many events
wait: a hundred thousand pods that are attempted again and again would keep the API server busy with
nothing new.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from moorage.api.meta import KubeObject, ObjectMeta
from moorage.api.podgroup import PodGroup
from moorage.clock import Clock
from moorage.observe.repeated_failures import RepeatedFailures
from moorage.watch.api_errors import AlreadyExists, ApiError, NotFound, Unreachable
from moorage.watch.api_resources import EVENTS
from moorage.watch.api_server import ApiServer

NOTE_LIMIT: Final = 1024
BACKLOG: Final = 10_000
BUSY: Final = 1_000
"""While this many events wait, repetitions are only counted."""
SERIES_KEPT: Final = 262_144
SERIES_SECONDS: Final = 360.0
"""A series that was not continued for this long has ended."""
TELL_SECONDS: Final = 60.0
TELL_SECONDS_MOST: Final = 1_800.0
"""A series is sent after `TELL_SECONDS`, then after twice as long, and so on up to this."""
ONCE: Final = frozenset(["Scheduled"])
"""Reasons of events that happen to an object only once: they need no series."""
SENDERS: Final = 8
MOST_SENDERS: Final = 32
WAITING_PER_SENDER: Final = 32
"""There is one more sender for every this many events that wait."""
NAME_KEPT: Final = 230
LOOK_SECONDS: Final = 0.01
RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 10.0)
API_VERSIONS: Final = {
    "Lease": "coordination.k8s.io/v1",
    "PodGroup": "scheduling.x-k8s.io/v1alpha1",
    "CompositePodGroup": "scheduling.k8s.io/v1alpha3",
    "ElasticQuota": "scheduling.x-k8s.io/v1alpha1",
}
WORKLOAD_VERSION: Final = "scheduling.k8s.io/v1beta1"
ATTEMPT_ANNOTATION: Final = "moorage/attempt"
"""The annotation with the id of the attempt, as it is in the log."""
GENERATION_ANNOTATION: Final = "moorage/generation"
"""The annotation with the generation of the configuration that decided."""

TRACE_ANNOTATION: Final = "moorage/trace"
"""The annotation with the id of the trace of the attempt."""

EventType = Literal["Normal", "Warning"]


class Lease(KubeObject):
    """The lease of leader election, as events refer to it."""


def lease_reference(namespace: str, name: str) -> Lease:
    return Lease(metadata=ObjectMeta(namespace=namespace, name=name))


class _Reference(NamedTuple):
    api_version: str
    kind: str
    name: str
    namespace: str
    uid: str
    resource_version: str

    @property
    def body(self) -> dict[str, str]:
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
        }


class _Event(NamedTuple):
    about: _Reference
    type: EventType
    reason: str
    action: str
    note: str
    time: float
    related: _Reference | None
    attempt: str
    generation: int
    trace: str

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations that name the attempt, the configuration and the trace, if known."""
        said = {
            ATTEMPT_ANNOTATION: self.attempt,
            GENERATION_ANNOTATION: str(self.generation or ""),
            TRACE_ANNOTATION: self.trace,
        }
        return {name: value for name, value in said.items() if value}


class _Series:
    __slots__ = ("_gap", "_told", "count", "is_there", "last", "name", "on_its_way")

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.count = 1
        self.last = now
        self.is_there = False
        self.on_its_way: asyncio.Event | None = None
        self._told = now
        self._gap = 0.0

    def goes_on(self, now: float, *, is_busy: bool) -> bool:
        """Count one repetition; whether the series must be sent now."""
        self.count += 1
        self.last = now
        if is_busy or now - self._told < self._gap:
            return False
        self._told = now
        self._gap = min(max(2 * self._gap, TELL_SECONDS), TELL_SECONDS_MOST)
        return True


class EventRecorder:
    """Sends events.k8s.io/v1 events about pods; `told` hears that they are refused."""

    def __init__(
        self,
        server: ApiServer,
        clock: Clock,
        *,
        instance: str,
        told: Callable[[int, str], None] = lambda level, sentence: None,
    ) -> None:
        self._server = server
        self._clock = clock
        self._instance = instance
        self._told = told
        self._refusals = RepeatedFailures(clock.now)
        self._backlog: deque[tuple[str, _Event, _Series]] = deque(maxlen=BACKLOG)
        self._something = asyncio.Event()
        self._series: OrderedDict[int, _Series] = OrderedDict()
        self._senders = 0
        self._made = 0
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
        attempt: str = "",
        generation: int = 0,
        trace: str = "",
    ) -> None:
        """Record an event; it is sent later, by the tasks of `run`.

        `attempt`, `generation` and `trace` are sent as annotations if they are set.
        """
        now = self._clock.now()
        regarding, other = _reference(about), None if related is None else _reference(related)
        event = _Event(
            regarding, type_, reason, action, cut_note(note), now, other, attempt, generation, trace
        )
        series = self._series_to_tell(controller, event)
        if series is None:
            return
        if len(self._backlog) == BACKLOG:
            self.dropped += 1
        self._backlog.append((controller, event, series))
        self._something.set()

    async def run(self) -> None:
        """Send events, a few at a time, for ever."""
        async with asyncio.TaskGroup() as senders:
            while True:
                await self._something.wait()
                self._something.clear()
                waiting = len(self._backlog)
                wanted = min(SENDERS + waiting // WAITING_PER_SENDER, MOST_SENDERS)
                for _ in range(min(waiting, wanted - self._senders)):
                    self._senders += 1
                    senders.create_task(self._send_on(), name="events/send")

    async def _send_on(self) -> None:
        try:
            await self.flush()
        finally:
            self._senders -= 1

    async def flush(self) -> None:
        """Send events until none waits."""
        while self._backlog:
            await self._deliver(*self._backlog.popleft())

    async def sent_all(self) -> None:
        """Return when all recorded events have been sent or dropped."""
        await self.flush()
        while self._senders:
            await self._clock.sleep(LOOK_SECONDS)

    async def _deliver(self, controller: str, event: _Event, series: _Series) -> None:
        """Send one event; retry for a while if the server cannot be reached."""
        for delay in (*RETRY_SECONDS, None):
            try:
                await self._send(controller, event, series)
            except Unreachable:
                if delay is not None:
                    await self._clock.sleep(delay)
                    continue
                self.dropped += 1
            except ApiError as error:
                self.dropped += 1
                if self._refusals.due(error.reason) is not None:
                    self._told(logging.WARNING, f"an event was refused: {error}")
            else:
                self.sent += 1
            return

    def _series_to_tell(self, controller: str, event: _Event) -> _Series | None:
        """The series that the event begins or continues; None if it is only counted."""
        if event.reason in ONCE:
            return self._new_series(event)
        known = self._series
        key = hash((controller, event.about.uid, *event[1:5]))
        series = known.pop(key, None)
        if series is None or event.time - series.last >= SERIES_SECONDS:
            series = known[key] = self._new_series(event)
            self._forget_series(event.time)
            return series
        known[key] = series
        is_busy = len(self._backlog) >= BUSY
        return series if series.goes_on(event.time, is_busy=is_busy) else None

    def _new_series(self, event: _Event) -> _Series:
        self._made += 1
        name = f"{event.about.name[:NAME_KEPT]}.{int(event.time * 1e9):x}{self._made % 4096:03x}"
        return _Series(name, event.time)

    def _forget_series(self, now: float) -> None:
        """Forget series that have ended and, if there are too many, the least recent ones."""
        known = self._series
        while len(known) > SERIES_KEPT or now - next(iter(known.values())).last >= SERIES_SECONDS:
            known.popitem(last=False)

    async def _send(self, controller: str, event: _Event, series: _Series) -> None:
        while series.on_its_way is not None:
            await series.on_its_way.wait()
        if series.is_there:
            with contextlib.suppress(NotFound):  # the event has expired on the server
                await self._extend(event, series)
                return
        series.on_its_way = sent = asyncio.Event()
        try:
            with contextlib.suppress(AlreadyExists):  # it was sent before, and the answer was lost
                await self._server.post(EVENTS, self._body(controller, event, series.name))
            series.is_there = True
        finally:
            series.on_its_way = None
            sent.set()

    async def _extend(self, event: _Event, series: _Series) -> None:
        count = {"count": series.count, "lastObservedTime": micro_time(event.time)}
        patch: dict[str, Any] = {"series": count}
        annotations = event.annotations
        if annotations:
            patch["metadata"] = {"annotations": annotations}
        namespace = event.about.namespace or "default"
        await self._server.patch(EVENTS, namespace, series.name, patch)

    def _body(self, controller: str, event: _Event, name: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": event.about.namespace or "default"},
            "eventTime": micro_time(event.time),
            "reportingController": controller,
            "reportingInstance": self._instance,
            "type": event.type,
            "reason": event.reason,
            "action": event.action,
            "note": event.note,
            "regarding": event.about.body,
        }
        annotations = event.annotations
        if annotations:
            body["metadata"]["annotations"] = annotations
        if event.related is not None:
            body["related"] = event.related.body
        return body


def cut_note(note: str) -> str:
    """The note cut to the bytes that an API server accepts, with kube's " ..." at the end."""
    raw = note.encode()
    if len(raw) <= NOTE_LIMIT:
        return note
    return raw[: NOTE_LIMIT - len(" ...")].decode(errors="ignore") + " ..."


def micro_time(seconds: float) -> str:
    """A Kubernetes MicroTime."""
    micros = round(seconds * 1e6)
    return f"{_second(micros // 1_000_000)}.{micros % 1_000_000:06d}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def _reference(obj: KubeObject) -> _Reference:
    metadata = obj.metadata
    return _Reference(
        _api_version(obj),
        type(obj).__name__,
        metadata.name,
        metadata.namespace,
        metadata.uid,
        metadata.resource_version,
    )


def _api_version(obj: KubeObject) -> str:
    if type(obj) is PodGroup and obj.spec.scheduling_policy is not None:
        return WORKLOAD_VERSION
    return API_VERSIONS.get(type(obj).__name__, "v1")
