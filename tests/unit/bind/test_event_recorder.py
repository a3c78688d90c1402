"""Events wait for the API server, in little memory, and more are sent at once when many wait."""

import asyncio
import sys
from contextlib import suppress
from typing import Any

import pytest

from moorage.bind import event_recorder
from moorage.bind.event_recorder import EventRecorder
from moorage.clock import SystemClock
from moorage.testing import pod


class SlowServer:
    """Takes an event, and answers when it is let."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.answers = asyncio.Event()

    async def post(self, resource: object, body: dict[str, Any]) -> None:
        self.taken.append(body)
        await self.answers.wait()


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
