"""Events wait for the API server, in little memory, and more are sent at once when many wait."""

import asyncio
import sys
from contextlib import suppress
from typing import Any

import pytest

from moorage.bind import event_recorder
from moorage.bind.event_recorder import EventRecorder
from moorage.clock import SystemClock, VirtualClock, run_virtual
from moorage.testing import pod
from moorage.watch.api_errors import Forbidden


class SlowServer:
    """Takes an event, and answers when it is let."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.answers = asyncio.Event()

    async def post(self, resource: object, body: dict[str, Any]) -> None:
        self.taken.append(body)
        await self.answers.wait()

    async def patch(self, resource: object, *where_and_what: Any) -> None:
        self.taken.append(where_and_what[-1])


def _recorder(server: SlowServer) -> EventRecorder:
    return EventRecorder(server, SystemClock(), instance="test")  # type: ignore[arg-type]


def _record(recorder: EventRecorder, count: int) -> None:
    for number in range(count):
        about = pod(f"p{number}").build()
        recorder.record("moorage", about, "Normal", "Scheduled", "Binding", "assigned")


async def _under_way(waiting: int) -> tuple[int, EventRecorder, SlowServer]:
    """So many events are recorded while the API server answers none: how many it was sent."""
    server = SlowServer()
    recorder = _recorder(server)
    running = asyncio.ensure_future(recorder.run())
    _record(recorder, waiting)
    for _ in range(10):
        await asyncio.sleep(0)
    found = len(server.taken)
    server.answers.set()
    await recorder.sent_all()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    return found, recorder, server


@pytest.mark.parametrize(
    ("waiting", "at_once"), [(3, 3), (20, 8), (64, 10), (320, 18), (5_000, 32)]
)
def test_the_more_events_wait_the_more_are_sent_at_once(waiting: int, at_once: int) -> None:
    found, recorder, server = asyncio.run(_under_way(waiting))

    assert found == at_once
    assert recorder.sent == len(server.taken) == waiting
    assert recorder.dropped == 0


def test_an_event_that_waits_does_not_hold_its_pod() -> None:
    recorder, about = _recorder(SlowServer()), pod("gone").build()
    before = sys.getrefcount(about)

    recorder.record("moorage", about, "Normal", "Scheduled", "Binding", "assigned", related=about)

    assert sys.getrefcount(about) == before


def test_of_too_many_events_the_oldest_are_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_recorder, "BACKLOG", 5)
    server = SlowServer()
    server.answers.set()

    async def story() -> EventRecorder:
        recorder = _recorder(server)
        _record(recorder, 7)
        await recorder.flush()
        return recorder

    recorder = asyncio.run(story())

    assert (recorder.sent, recorder.dropped) == (5, 2)
    assert [body["regarding"]["name"] for body in server.taken] == ["p2", "p3", "p4", "p5", "p6"]


def _refused_every(seconds: float, times: int, note: str = "0/3 nodes") -> list[dict[str, Any]]:
    """What is sent of a pod that is refused so many times."""
    server, clock = SlowServer(), VirtualClock()
    server.answers.set()
    recorder = EventRecorder(server, clock, instance="test")  # type: ignore[arg-type]
    about = pod("huge").build()

    async def story() -> None:
        for number in range(times):
            said = note.format(number)
            recorder.record("moorage", about, "Warning", "FailedScheduling", "Scheduling", said)
            await recorder.flush()
            clock.advance_to(clock.now() + seconds)

    asyncio.run(story())
    return server.taken


def test_a_repeated_event_is_told_at_once_and_then_less_and_less_often() -> None:
    taken = _refused_every(10.0, 60)

    assert taken[0]["reason"] == "FailedScheduling"
    assert [body["series"]["count"] for body in taken[1:]] == [2, 8, 20, 44]


def test_while_many_events_wait_only_new_ones_join_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "BUSY", 10)
    server, clock = SlowServer(), VirtualClock()
    server.answers.set()
    recorder = EventRecorder(server, clock, instance="test")  # type: ignore[arg-type]

    def fail(names: range) -> None:
        for name in names:
            about = pod(f"p{name}").build()
            recorder.record("moorage", about, "Warning", "FailedScheduling", "Scheduling", "no")

    fail(range(12))
    fail(range(12))
    fail(range(12, 15))
    asyncio.run(recorder.flush())
    assert [body["regarding"]["name"] for body in server.taken] == [f"p{n}" for n in range(15)]

    fail(range(1))
    asyncio.run(recorder.flush())
    assert server.taken[-1]["series"]["count"] == 3


def test_an_event_that_repeats_while_it_is_being_sent_is_told_after_that() -> None:
    async def story() -> list[dict[str, Any]]:
        server = SlowServer()
        recorder = _recorder(server)
        running = asyncio.ensure_future(recorder.run())
        for attempt in ("1", "2"):
            about = pod("huge").build()
            words = ("Warning", "FailedScheduling", "Scheduling", "no")
            recorder.record("moorage", about, *words, attempt=attempt)  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
        server.answers.set()
        await recorder.sent_all()
        running.cancel()
        return server.taken

    posted, patched = asyncio.run(story())

    assert posted["metadata"]["annotations"]["moorage/attempt"] == "1"
    assert patched["series"]["count"] == 2
    assert patched["metadata"]["annotations"]["moorage/attempt"] == "2"


def test_an_hour_of_attempts_is_told_in_a_few_requests() -> None:
    assert len(_refused_every(10.0, 360)) == 7


def test_another_note_is_another_event_and_told_at_once() -> None:
    taken = _refused_every(1.0, 5, "0/{} nodes")

    assert [body.get("note") for body in taken] == [f"0/{number} nodes" for number in range(5)]


def test_what_happens_again_after_a_long_silence_is_a_new_event() -> None:
    taken = _refused_every(event_recorder.SERIES_SECONDS, 3)

    assert len({body["metadata"]["name"] for body in taken}) == 3


def test_series_that_have_ended_are_forgotten() -> None:
    server, clock = SlowServer(), VirtualClock()
    recorder = EventRecorder(server, clock, instance="test")  # type: ignore[arg-type]

    def fail(name: str) -> None:
        about = pod(name).build()
        recorder.record("moorage", about, "Warning", "FailedScheduling", "Scheduling", "no")

    for number in range(50):
        fail(f"p{number}")
    _record(recorder, 50)
    assert len(recorder._series) == 50, "a pod is scheduled once: nothing to remember"
    clock.advance_to(event_recorder.SERIES_SECONDS + 1)
    fail("late")

    assert len(recorder._series) == 1


def test_events_that_are_refused_are_told_now_and_then() -> None:
    """Else nothing but a counter would say that the role lacks a right."""
    clock, said = VirtualClock(1_000.0), []

    class Refusing(SlowServer):
        async def post(self, resource: object, body: dict[str, Any]) -> None:
            raise Forbidden("cannot create resource events")

    async def story() -> int:
        recorder = EventRecorder(
            Refusing(),  # type: ignore[arg-type]
            clock,
            instance="test",
            told=lambda level, sentence: said.append(sentence),
        )
        for _ in range(20):
            _record(recorder, 5)
            await recorder.flush()
            await clock.sleep(2.0)
        return recorder.dropped

    assert run_virtual(story(), clock) == 100
    assert said == ["an event was refused: cannot create resource events"] * 2
