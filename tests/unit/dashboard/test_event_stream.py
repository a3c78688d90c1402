"""Viewers are told what changes: shared, bounded, and at nobody's cost while nobody looks."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from moorage.cache.cache import Cache
from moorage.dashboard import event_stream, viewers
from moorage.dashboard.cluster_view import MOST_ROWS, SNAPSHOT_ROWS, ClusterView
from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.decision_view import DecisionView
from moorage.dashboard.stream_channels import MOST_SENT, ClusterChannel, DecisionChannel
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.records import Attempt, Result
from moorage.testing import node, pod
from tests.unit.dashboard.shown import Asker, finished, serving

FRAME = 64 << 10


def cluster(nodes: int) -> Cache:
    cache = Cache()
    for number in range(nodes):
        cache.put_node(node(f"n{number}").offering(cpu="64").build())
    return cache


def placed(name: str, where: str) -> Any:
    return pod(name).requesting(cpu="1").on(where).build()


def attempt(number: int) -> Attempt:
    return Attempt(
        id=f"{number:x}",
        pod=f"default/p{number}",
        uid=f"u{number}",
        profile="default-scheduler",
        result=Result.SCHEDULED,
        time=1000.0 + number,
        node="n1",
    )


def caught_up(view: ClusterView) -> ClusterView:
    asyncio.run(view.catch_up())
    return view


def test_a_delta_has_the_rows_that_changed_and_no_others() -> None:
    cache = cluster(50)
    view = caught_up(ClusterView(cache))
    seen = view.cursor()

    cache.put_pod(placed("web", "n7"))
    told, seen = caught_up(view).since(seen)

    assert told is not None
    names = json.loads(asyncio.run(view.whole()))["nodes"]["name"]
    assert [names[row] for row in told["rows"]] == ["n7"]
    assert told["columns"]["pods"] == [1]
    assert told["columns"]["tenant"] == ["default"]
    assert view.since(seen) == (None, seen)


def test_a_thousand_changes_of_one_node_are_one_row() -> None:
    cache = cluster(50)
    view = caught_up(ClusterView(cache))
    seen = view.cursor()

    for number in range(1000):
        cache.put_pod(placed(f"p{number}", "n3"))
        if number % 10 == 0:
            caught_up(view)
    told, _ = caught_up(view).since(seen)

    assert told is not None
    assert len(told["rows"]) == 1
    assert told["columns"]["pods"] == [1000]


def test_many_rows_go_in_bounded_deltas_until_all_were_sent() -> None:
    cache = cluster(1000)
    view = caught_up(ClusterView(cache))
    seen, rows, deltas = view.cursor(), set[int](), 0
    for number in range(1000):
        cache.put_pod(placed(f"p{number}", f"n{number}"))
    caught_up(view)

    while True:
        told, seen = view.since(seen)
        if told is None:
            break
        deltas += 1
        assert len(told["rows"]) <= MOST_ROWS
        assert len(json.dumps(told)) < FRAME
        rows.update(told["rows"])

    assert (len(rows), deltas) == (1000, 3)


def test_who_lacks_too_much_fetches_all_anew() -> None:
    cache = cluster(SNAPSHOT_ROWS + 1)
    view = caught_up(ClusterView(cache))
    seen = view.cursor()
    for number in range(SNAPSHOT_ROWS + 1):
        cache.put_pod(placed(f"p{number}", f"n{number}"))

    told, seen = caught_up(view).since(seen)

    assert told == {"snapshot": True}
    assert view.since(seen) == (None, seen)


@pytest.mark.parametrize("change", ["joins", "leaves", "moves"])
def test_positions_hold_only_while_the_nodes_are_the_same(change: str) -> None:
    cache = cluster(3)
    view = caught_up(ClusterView(cache))
    seen = view.cursor()

    if change == "joins":
        cache.put_node(node("new").build())
    elif change == "leaves":
        cache.remove_node(node("n1").build())
    else:
        cache.put_node(node("n1").in_zone("elsewhere").offering(cpu="64").build())
    told, _ = caught_up(view).since(seen)

    assert told == {"snapshot": True}


def test_what_is_kept_up_to_date_is_what_is_read_afresh() -> None:
    cache = cluster(40)
    view = caught_up(ClusterView(cache))
    for number in range(200):
        cache.put_pod(placed(f"p{number}", f"n{number % 37}"))
        if number % 3 == 0:
            cache.remove_pod(f"default/p{number // 2}")
        if number % 20 == 0:
            cache.remove_node(node(f"n{number // 10}").build())
            caught_up(view)
            cache.put_node(node(f"again{number}").in_zone("z").offering(cpu="8").build())

    kept = json.loads(asyncio.run(view.whole()))["nodes"]
    afresh = json.loads(asyncio.run(ClusterView(cache).whole()))["nodes"]

    assert kept == afresh


def test_a_beat_takes_in_as_many_nodes_as_a_delta_holds_however_many_changed() -> None:
    nodes = 3 * MOST_ROWS
    cache = cluster(nodes)
    view = caught_up(ClusterView(cache))
    channel, seen = ClusterChannel(view), view.cursor()
    told: list[list[int]] = []

    for number in range(nodes):
        cache.put_pod(placed(f"p{number}", f"n{number}"))
    for _ in range(4):
        asyncio.run(channel.catch_up())
        delta, seen = channel.since(seen)
        told.append([] if delta is None else delta["rows"])
        cache.put_pod(placed(f"more{len(told)}", "n0"))

    assert [len(rows) for rows in told] == [MOST_ROWS] * 3 + [1]
    assert len({row for rows in told for row in rows}) == nodes


def test_decisions_are_the_newest_few_and_how_many_were_skipped() -> None:
    records = DecisionRecords()
    channel = DecisionChannel(DecisionView(records, lambda: 2000.0))
    for number in range(1, 201):
        records.attempted(attempt(number))
        if number in (30, 200):
            asyncio.run(channel.catch_up())

    told, seen = channel.since(0)
    last, _ = channel.since(198)

    assert told is not None
    assert last is not None
    assert numbers(told) == list(range(200, 200 - MOST_SENT, -1))
    assert told["skipped"] == 200 - MOST_SENT
    assert (numbers(last), last["skipped"]) == ([200, 199], 0)
    assert channel.since(seen) == (None, 200)


def numbers(told: dict[str, Any]) -> list[int]:
    return [json.loads(bytes(each))["number"] for each in told["items"]]


def test_what_nobody_follows_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)
    run = finished(node("a").offering(cpu="8"), pod("huge").requesting(cpu="16"), seconds=1)
    looked: list[str] = []

    async def look(channel: Any) -> None:
        looked.append(channel.name)

    for channel in (ClusterChannel, DecisionChannel):
        monkeypatch.setattr(channel, "catch_up", look)

    async def main() -> None:
        async with serving(Dashboard(run.sources)) as asker:
            await events(asker, "queue,health", 2)
            assert looked == []
            run.records.attempted(attempt(1))
            looking = asyncio.ensure_future(events(asker, "decisions,queue", 1))
            await asyncio.sleep(0.2)
            looking.cancel()

    asyncio.run(main())

    assert set(looked) == {"decisions"}


async def events(asker: Asker, views: str, wanted: int) -> list[tuple[str, Any]]:
    """The first events of a stream."""
    found: list[tuple[str, Any]] = []
    url = f"{asker.url}/dashboard/api/stream?views={views}"
    async with asker.session.get(url) as answer:
        assert answer.content_type == "text/event-stream"
        kind = ""
        async for line in answer.content:
            name, _, rest = line.decode().strip().partition(": ")
            if name == "event":
                kind = rest
            elif name == "data":
                found.append((kind, json.loads(rest)))
                if len(found) == wanted:
                    return found
    raise AssertionError("the stream ended")


def test_a_viewer_sees_what_happens_while_he_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)
    run = finished(node("a").offering(cpu="8"), pod("web"), seconds=1)
    dashboard = Dashboard(run.sources)

    async def main() -> dict[str, Any]:
        async with serving(dashboard) as asker:
            await asker.json("cluster")
            looking = asyncio.ensure_future(events(asker, "cluster,decisions", 2))
            await asyncio.sleep(0.2)
            assert dashboard.viewers.count == 1
            run.scheduler.cache.put_pod(placed("late", "a"))
            run.records.attempted(attempt(99))
            return dict(await looking)

    told = asyncio.run(main())

    assert told["cluster"]["columns"]["pods"] == [2]
    assert told["decisions"]["items"][0]["pod"] == "default/p99"
    assert dashboard.viewers.count == 0
    assert dashboard.viewers._beating is None


def test_queue_and_health_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)
    run = finished(node("a").offering(cpu="8"), pod("huge").requesting(cpu="16"), seconds=1)

    async def main() -> dict[str, Any]:
        async with serving(Dashboard(run.sources)) as asker:
            return dict(await events(asker, "queue,health", 2))

    told = asyncio.run(main())

    assert [each["pod"] for each in told["queue"]["top"]] == ["default/huge"]
    assert told["health"] == {"ok": True, "alerts": 0}


def test_a_view_that_fails_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody can stop the page of every viewer by an object that one view cannot read."""
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)

    async def broken(view: ClusterView) -> None:
        raise ValueError("invalid literal for int(): '²'")

    monkeypatch.setattr(ClusterView, "catch_up_some", broken)
    run = finished(node("a").offering(cpu="8"), pod("huge").requesting(cpu="16"), seconds=1)

    async def main() -> list[tuple[str, Any]]:
        async with serving(Dashboard(run.sources)) as asker:
            looking = asyncio.ensure_future(events(asker, "cluster,queue,decisions", 2))
            await asyncio.sleep(0.05)
            run.records.attempted(attempt(99))
            return await asyncio.wait_for(looking, 5)

    told = dict(asyncio.run(main()))

    assert set(told) == {"queue", "decisions"}
    assert [each.message for each in caplog.records] == ["A view of the dashboard failed"]


def test_only_so_many_may_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)
    run = finished(node("a"), seconds=1)
    dashboard = Dashboard(run.sources)
    dashboard.viewers._most = 2

    async def main() -> tuple[int, str, str]:
        async with serving(dashboard) as asker:
            url = f"{asker.url}/dashboard/api/stream"
            ask = asker.session.get
            async with ask(url), ask(url), ask(url) as third:
                return third.status, await third.text(), third.headers["Retry-After"]

    status, text, after = asyncio.run(main())

    assert (status, after) == (503, "10")
    assert text == "2 viewers look already: try again when one has left\n"


def test_who_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(event_stream, "STUCK_SECONDS", 0.05)
    run = finished(node("a").offering(cpu="8"), pod("huge").requesting(cpu="16"), seconds=1)
    dashboard = Dashboard(run.sources)

    async def stuck(response: Any, data: bytes) -> None:
        await asyncio.sleep(60)

    async def main() -> int:
        async with serving(dashboard) as asker:
            monkeypatch.setattr("aiohttp.web.StreamResponse.write", stuck)
            async with asker.session.get(f"{asker.url}/dashboard/api/stream") as answer:
                with pytest.raises(aiohttp.ClientError):
                    await answer.content.read()
            return dashboard.viewers.count

    assert asyncio.run(main()) == 0


def test_a_viewer_who_leaves_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(viewers, "BEAT_SECONDS", 0.01)
    run = finished(node("a").offering(cpu="8"), seconds=1)
    dashboard = Dashboard(run.sources)

    async def main() -> None:
        async with serving(dashboard) as asker:
            answer = await asker.session.get(f"{asker.url}/dashboard/api/stream")
            await answer.content.readline()
            answer.close()
            for number in range(200):
                run.records.attempted(attempt(number))
                await asyncio.sleep(0.005)
                if not dashboard.viewers.count:
                    return

    asyncio.run(main())

    assert dashboard.viewers.count == 0
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


def test_a_server_that_stops_lets_viewers_go() -> None:
    run = finished(node("a"), seconds=1)
    dashboard = Dashboard(run.sources)

    async def main() -> bytes:
        serve = serving(dashboard)
        asker = await serve.__aenter__()
        answer = await asker.session.get(f"{asker.url}/dashboard/api/stream")
        await answer.content.readline()
        dashboard.close()
        rest = await asyncio.wait_for(answer.content.read(), 3)
        await serve.__aexit__()
        return rest

    assert b"event" not in asyncio.run(main())
