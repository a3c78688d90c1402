"""Latencies from ConfigMaps and files."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from moorage.clock import VirtualClock, run_virtual
from moorage.feeds.feeds import SETTLE_SECONDS, Feed
from moorage.feeds.latency_readers import (
    CONFIG_MAP_FORBIDDEN,
    CONFIG_MAP_MISSING,
    ConfigMapLatencies,
    FileLatencies,
)
from moorage.feeds.readings import CONFIG_MAPS, FeedError
from moorage.memory.memory_cluster import MemoryCluster
from moorage.policies.telemetry.metric_sources import LatencyConfigMap, LatencyFile
from moorage.watch.api_errors import Forbidden, NotFound, Unreachable
from tests.unit.feeds.fakes import NOW, FakeServer

Found = dict[tuple[str, str], tuple[float, float]]
TEN_MINUTES = 600.0
PLACE = "ConfigMap ns/map"


def read(answer: dict[str, str] | Exception) -> Found:
    given = {"data": answer} if isinstance(answer, dict) else answer
    server: Any = FakeServer(given)
    source = LatencyConfigMap("ns", "map", 30.0, TEN_MINUTES)
    found = asyncio.run(ConfigMapLatencies(source, server, VirtualClock(NOW)).read()).found
    assert server.asked == ["/api/v1/namespaces/ns/configmaps/map"]
    return found


def measured(seconds_ago: int, **milliseconds: float) -> str:
    """A prober's document, from zone a."""
    at = f"1970-01-12T13:{46 - seconds_ago // 60:02}:{40 - seconds_ago % 60:02}Z"
    return f"measuredAt: {at}\nlatencies: {{a: {milliseconds}}}"


def test_a_table_written_by_hand_is_true_whenever_it_is_read() -> None:
    found = read({"table.yaml": "latencies:\n  a: {b: 2.5, c: 8}\n  b: {c: 4}"})

    assert found == {("a", "b"): (2.5, NOW), ("a", "c"): (8.0, NOW), ("b", "c"): (4.0, NOW)}


def test_a_measurement_keeps_its_time() -> None:
    assert read({"n1": measured(20, b=2.5)}) == {("a", "b"): (2.5, NOW - 20)}


def test_of_several_probers_the_median_counts() -> None:
    found = read({"n1": measured(20, b=2), "n2": measured(10, b=9), "n3": measured(0, b=3)})

    assert found == {("a", "b"): (3.0, NOW)}


def test_what_is_no_longer_believed_does_not_count() -> None:
    found = read({"n1": measured(20, b=2), "n2": measured(601 + 19, b=900)})

    assert found == {("a", "b"): (2.0, NOW - 20)}


def test_one_prober_that_writes_nonsense_does_not_hide_the_others() -> None:
    assert read({"n1": "{{{", "n2": measured(0, b=2)}) == {("a", "b"): (2.0, NOW)}


def test_an_empty_config_map_says_nothing() -> None:
    assert read({}) == {}


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(NotFound("no"), f"{PLACE}: {CONFIG_MAP_MISSING}", id="there is none"),
        pytest.param(
            Forbidden("no"), f"{PLACE}: {CONFIG_MAP_FORBIDDEN} (no)", id="it may not be read"
        ),
        pytest.param(Unreachable("gone"), f"{PLACE}: gone", id="the API server is away"),
        pytest.param(
            {"t": "latencies: {a: {b: -1}}"},
            f"{PLACE}, data[t]: not a table of latencies: latencies.a.b: expected `float` >= 0.0",
            id="a latency below nothing",
        ),
        pytest.param(
            {"t": "a: {b: 1}"},
            f"{PLACE}, data[t]: not a table of latencies: object missing required field",
            id="something else",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(answer: Any, want: str) -> None:
    with pytest.raises(FeedError) as caught:
        read(answer)

    assert str(caught.value).startswith(want)


def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "latencies.yaml"
    file.write_text("latencies: {a: {b: 1}}")
    reader = FileLatencies(LatencyFile(str(file), 30.0, TEN_MINUTES), VirtualClock(NOW))
    assert asyncio.run(reader.read()).found == {("a", "b"): (1.0, NOW)}

    file.write_text('{"latencies": {"a": {"b": 2}}}')

    assert asyncio.run(reader.read()).found == {("a", "b"): (2.0, NOW)}
    file.unlink()
    with pytest.raises(FeedError, match=r"latencies.yaml: No such file or directory"):
        asyncio.run(reader.read())


def test_a_config_map_that_changes_is_read_at_once() -> None:
    """Well before its turn, which would be in half a minute."""
    clock = VirtualClock(NOW)
    cluster = MemoryCluster(clock=clock, rng=random.Random(0))
    table = {"metadata": {"namespace": "ns", "name": "map"}, "data": {"t": measured(0, b=2)}}
    cluster.add(CONFIG_MAPS, table)
    source = LatencyConfigMap("ns", "map", 30.0, TEN_MINUTES)
    feed = Feed(source, ConfigMapLatencies(source, cluster, clock), clock)

    async def story() -> tuple[float, float]:
        await feed.poll()
        pausing = asyncio.ensure_future(feed.pause())
        await clock.sleep(3.0)
        await cluster.patch(CONFIG_MAPS, "ns", "map", {"data": {"t": measured(0, b=9)}})
        await pausing
        heard = clock.now() - NOW
        await feed.poll()
        await feed.pause()
        return heard, clock.now() - NOW - heard

    assert run_virtual(story(), clock) == (3.0 + SETTLE_SECONDS, 30.0)
    assert feed.reading is not None
    assert feed.reading.values == {("a", "b"): 9.0}
