"""A reflector against a server that answers from a script."""

import asyncio
import gc
import random
import weakref
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import pytest

from moorage.api.meta import KubeObject, ObjectMeta
from moorage.clock import VirtualClock, run_virtual
from moorage.watch.api_errors import ApiError, Gone, ServerError, TooManyRequests, VersionTooLarge
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import ApiServer, EventType, Page, WatchEvent
from moorage.watch.reflector import Change, Reflector

End = ApiError | None


def obj(name: str, version: int, uid: str = "") -> KubeObject:
    metadata = ObjectMeta(name=name, namespace="d", uid=uid or name, resource_version=str(version))
    return KubeObject(metadata=metadata)


def page(version: int, *items: KubeObject, token: str = "") -> Page:
    return Page(items, str(version), token)


def event(type: EventType, item: KubeObject) -> WatchEvent:
    return WatchEvent(type, item, item.metadata.resource_version)


def bookmark(version: int) -> WatchEvent:
    return WatchEvent("BOOKMARK", None, str(version))


class ScriptedServer:
    """Answers lists and watches in the order given, and notes what it was asked and when.

    A watch is a list of events and how it ends: None, or the error it fails with. After the last
    one the script is over, and the reflector is cancelled by `_Over`.
    """

    def __init__(
        self,
        clock: VirtualClock,
        lists: list[Page | ApiError],
        watches: list[tuple[list[WatchEvent], End]],
        lasting: float = 2.0,
    ) -> None:
        self.asked: list[str] = []
        self.times: list[float] = []
        self._clock = clock
        self._lists = iter(lists)
        self._watches = iter(watches)
        self._lasting = lasting

    async def list_page(
        self,
        resource: Resource,
        *,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        self._note(f"list limit={limit} token={continue_token!r}")
        answer = next(self._lists, None)
        if answer is None:
            raise _Over
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        timeout_seconds: float | None = None,
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent, None]:
        self._note(f"watch {resource_version}")
        script = next(self._watches, None)
        if script is None:
            raise _Over
        for each in script[0]:
            yield each
        await self._clock.sleep(self._lasting)
        if script[1] is not None:
            raise script[1]

    def _note(self, request: str) -> None:
        self.asked.append(request)
        self.times.append(self._clock.now())


class _Over(Exception):
    """The script has come to its end."""


class Run:
    """What came of following a script to its end."""

    def __init__(
        self,
        lists: list[Page | ApiError],
        watches: list[tuple[list[WatchEvent], End]],
        lasting: float = 2.0,
        by_page: bool = False,
        server: type[ScriptedServer] = ScriptedServer,
    ) -> None:
        clock = VirtualClock()
        self.changes: list[Change] = []
        self.delays: list[float] = []
        self.asked_by_then: list[int] = []
        """With each change, how many requests had been answered before it."""
        self.server = server(clock, lists, watches, lasting)
        self.reflector = Reflector(
            cast("ApiServer", self.server),
            PODS,
            clock=clock,
            rng=random.Random(7),
            page_size=2,
            on_error=lambda _, delay: self.delays.append(delay),
            by_page=by_page,
        )
        with pytest.raises(_Over):
            run_virtual(self._follow(), clock)

    async def _follow(self) -> None:
        async with aclosing(self.reflector.changes()) as changes:
            async for change in changes:
                self.changes.append(change)
                self.asked_by_then.append(len(self.server.asked))

    @property
    def story(self) -> list[str]:
        """The changes in short: what happened to whom."""
        return [_short(change) for change in self.changes]


def _short(change: Change) -> str:
    subject = change.new or change.old
    return change.type if subject is None else f"{change.type} {subject.name}"


A1, A2, B1, C1 = obj("a", 1), obj("a", 5), obj("b", 2), obj("c", 3)


def test_a_list_is_reported_as_additions_and_then_synced() -> None:
    run = Run([page(3, A1, B1)], [])

    assert run.story == ["added a", "added b", "synced"]
    assert run.reflector.synced


def test_pages_are_followed_and_watched_from_their_version() -> None:
    run = Run([page(3, A1, B1, token="more"), page(3, C1)], [])

    assert run.server.asked == ["list limit=2 token=''", "list limit=2 token='more'", "watch 3"]
    assert run.story == ["added a", "added b", "added c", "synced"]


def test_the_first_list_is_reported_whole_unless_parts_of_it_harm_nobody() -> None:
    lists: list[Page | ApiError] = [page(3, A1, B1, token="more"), page(3, C1)]

    whole, by_page = Run(lists, []), Run(lists, [], by_page=True)

    assert whole.story == by_page.story == ["added a", "added b", "added c", "synced"]
    assert whole.asked_by_then == [2, 2, 2, 2]
    assert by_page.asked_by_then == [1, 1, 2, 2]
    assert by_page.reflector.resource_version == "3"


def test_a_page_that_fails_leaves_what_was_reported_to_the_next_list() -> None:
    failing = ServerError("down")
    run = Run([page(3, A1, B1, token="more"), failing, page(9, A2, C1)], [], by_page=True)

    assert run.story == ["added a", "added b", "deleted b", "updated a", "added c", "synced"]
    assert len(run.delays) == 1


def test_a_reader_that_leaves_ends_the_request_for_the_next_page() -> None:
    async def leave_early() -> bool:
        server = ScriptedServer(VirtualClock(), [page(3, A1, token="more"), page(3, B1)], [])
        asked, ended = server.list_page, asyncio.Event()

        async def slow(resource: Resource, **given: Any) -> Page:
            if not given["continue_token"]:
                return await asked(resource, **given)
            try:
                return await asyncio.Future()
            finally:
                ended.set()

        server.list_page = slow  # type: ignore[method-assign]
        reflector = Reflector(
            cast("ApiServer", server),
            PODS,
            clock=VirtualClock(),
            rng=random.Random(7),
            by_page=True,
        )
        async with aclosing(reflector.changes()) as changes:
            await anext(changes)
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return ended.is_set()

    assert asyncio.run(leave_early())


def test_each_change_carries_what_was_reported_before() -> None:
    last = obj("a", 6)
    run = Run([page(3, A1)], [([event("MODIFIED", A2), event("DELETED", last)], None)])

    assert run.changes[2:] == [
        Change("updated", old=A1, new=A2),
        Change("deleted", old=A2),
    ]
    assert run.reflector.known == {}


def test_a_watch_that_ends_is_taken_up_from_the_last_version() -> None:
    run = Run([page(3)], [([event("ADDED", A2)], None), ([bookmark(9)], None), ([], None)])

    assert run.server.asked[1:] == ["watch 3", "watch 5", "watch 9", "watch 9"]
    assert run.delays == []


def test_a_bookmark_is_not_reported() -> None:
    run = Run([page(3)], [([bookmark(9)], None)])

    assert run.story == ["synced"]
    assert run.reflector.resource_version == "9"


def test_after_gone_the_difference_is_reported() -> None:
    replaced = obj("c", 8, uid="another")
    lists: list[Page | ApiError] = [
        page(3, A1, B1, C1, obj("d", 3)),
        page(9, A2, C1, replaced, obj("d", 3), obj("e", 7)),
    ]
    run = Run(lists, [([], Gone("too old"))])

    assert run.story[5:] == ["deleted b", "updated a", "deleted c", "added c", "added e"]
    assert run.server.asked[-1] == "watch 9"


def test_an_object_unchanged_by_a_relist_stays_the_very_same() -> None:
    same_again = obj("a", 1)
    run = Run([page(3, A1), page(9, same_again)], [([], Gone("too old"))])

    assert run.reflector.known["d/a"] is A1


class Watched(KubeObject, frozen=True, gc=True, weakref=True):
    """An object of which can be told whether it is still in memory."""


def test_a_relist_does_not_hold_what_is_known_twice() -> None:
    alive: list[weakref.ref[Watched]] = []
    held: list[int] = []

    class Relisting(ScriptedServer):
        """Answers each list in two pages of objects made for it alone."""

        async def list_page(self, resource: Resource, **asked: Any) -> Page:
            token = asked["continue_token"]
            first = await super().list_page(resource, **asked)
            items = [Watched(metadata=obj(f"{token}{name}", 1).metadata) for name in "abc"]
            alive.extend(weakref.ref(item) for item in items)
            gc.collect()
            held.append(sum(each() is not None for each in alive))
            return page(1, *items, token=first.continue_token)

    answers: list[Page | ApiError] = [page(1, token=token) for token in ("2", "3", "") * 2]
    Run(answers, [([], Gone("too old"))], server=Relisting)

    assert held[:3] == [3, 6, 9]
    assert max(held[3:]) <= 9 + 6, "known, and the page that is looked at beside the next one"


def test_synced_is_reported_once() -> None:
    run = Run([page(3), page(4)], [([], Gone("too old")), ([], Gone("too old"))])

    assert run.story == ["synced"]


def test_a_version_the_server_has_not_reached_leads_to_a_new_list() -> None:
    run = Run([page(30, A1), page(2)], [([], VersionTooLarge("not yet"))])

    assert run.story == ["added a", "synced", "deleted a"]


def test_a_failed_watch_waits_and_goes_on_from_the_last_version() -> None:
    failures: list[tuple[list[WatchEvent], End]] = [([], ServerError("no")) for _ in range(3)]
    run = Run([page(3)], failures)

    assert run.server.asked[1:] == ["watch 3"] * 4
    for low, delay in zip((0.8, 1.6, 3.2), run.delays, strict=True):
        assert low <= delay < 2 * low


def test_an_event_ends_the_doubling_of_delays() -> None:
    failing: tuple[list[WatchEvent], End] = ([], ServerError("no"))
    run = Run([page(3)], [failing, failing, ([bookmark(4)], ServerError("no"))])

    assert 1.6 <= run.delays[1] < 3.2
    assert 0.8 <= run.delays[2] < 1.6


def test_a_failed_list_waits_and_asks_again() -> None:
    run = Run([ServerError("no"), ServerError("no"), page(3, A1)], [])

    assert run.story == ["added a", "synced"]
    assert run.server.times[1] == run.delays[0]


def test_the_server_may_ask_for_a_longer_delay() -> None:
    run = Run([TooManyRequests("later", retry_after=17.0), page(3)], [])

    assert run.delays == [17.0]


def test_when_pages_expire_the_list_is_asked_for_whole() -> None:
    run = Run([page(3, A1, token="more"), Gone("too old"), page(9, A2)], [])

    assert run.server.asked[2] == "list limit=0 token=''"
    assert run.story == ["added a", "synced"]


def test_a_watch_that_ends_as_it_begins_is_not_asked_for_in_a_hot_loop() -> None:
    run = Run([page(3)], [([], None), ([], None)], lasting=0.0)

    assert len(run.delays) == 2


def test_a_watch_that_is_gone_at_once_does_not_list_in_a_hot_loop() -> None:
    run = Run([page(3), page(4)], [([], Gone("old")), ([], Gone("old"))], lasting=0.0)

    assert len(run.delays) == 2


@pytest.mark.parametrize(
    ("events", "want"),
    [
        pytest.param([event("ADDED", A1)], [], id="an addition already known is not repeated"),
        pytest.param(
            [event("ADDED", A2)], ["updated a"], id="an addition of what is known is an update"
        ),
        pytest.param(
            [event("MODIFIED", B1)], ["added b"], id="an update of what is unknown is an addition"
        ),
        pytest.param([event("DELETED", B1)], [], id="a deletion of what is unknown is nothing"),
        pytest.param(
            [event("MODIFIED", obj("a", 5, uid="another"))],
            ["deleted a", "added a"],
            id="another object of the same name is a deletion and an addition",
        ),
    ],
)
def test_changes_follow_from_what_is_known(events: list[WatchEvent], want: list[str]) -> None:
    run = Run([page(3, A1)], [(events, None)])

    assert run.story[2:] == want


class TestListingAgain:
    """`relist` ends whatever is waited for."""

    def play(
        self, watches: list[tuple[list[WatchEvent], End]], ask_at: float, lasting: float = 1000.0
    ) -> tuple[ScriptedServer, Reflector, list[str]]:
        clock = VirtualClock()
        server = ScriptedServer(clock, [page(3, A1), page(9, B1)], watches, lasting)
        reflector = Reflector(cast("ApiServer", server), PODS, clock=clock, rng=random.Random(7))
        story: list[str] = []

        async def follow() -> None:
            async for change in reflector.changes():
                story.append(_short(change))  # noqa: PERF401 it never ends

        async def main() -> None:
            task = asyncio.ensure_future(follow())
            await clock.sleep(ask_at)
            reflector.relist()
            await clock.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        run_virtual(main(), clock)
        return server, reflector, story

    def test_a_watch_ends_and_what_changed_is_reported(self) -> None:
        server, reflector, story = self.play([([], None), ([], None)], ask_at=10.0)

        assert story == ["added a", "synced", "deleted a", "added b"]
        assert server.times == [0.0, 0.0, 10.0, 10.0]
        assert reflector.reached("9")
        assert not reflector.reached("10")

    def test_a_back_off_ends(self) -> None:
        gone: list[tuple[list[WatchEvent], End]] = [([], Gone("old")), ([], None)]
        server, reflector, story = self.play(gone, ask_at=0.5, lasting=0.0)

        assert server.times[:3] == [0.0, 0.0, 0.5]
        assert reflector.failures == 1 + 1  # the second watch ends as it begins
        assert story[-1] == "added b"

    def test_a_reader_that_is_cancelled_meanwhile_ends(self) -> None:
        clock = VirtualClock()
        server = ScriptedServer(clock, [page(3)], [([], None)], 1000.0)
        reflector = Reflector(cast("ApiServer", server), PODS, clock=clock, rng=random.Random(7))

        async def follow() -> None:
            async for _ in reflector.changes():
                pass

        async def main() -> None:
            task = asyncio.ensure_future(follow())
            await clock.sleep(1.0)
            reflector.relist()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main(), clock)
