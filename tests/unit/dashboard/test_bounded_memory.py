"""However long somebody looks, and however much changes, nothing grows."""

import asyncio
import gc
import tracemalloc
from itertools import count
from pathlib import Path

from moorage import dashboard
from moorage.cache.cache import Cache
from moorage.dashboard.cluster_view import ClusterView
from moorage.dashboard.decision_view import DecisionView
from moorage.dashboard.event_stream import EventStream
from moorage.dashboard.stream_channels import ClusterChannel, DecisionChannel
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.records import Attempt, Result
from moorage.testing import node, pod

NODES, UPDATES, BEATS = 50, 250, 16
"""At 1,000 updates a second and four beats: four seconds."""
ALLOWED = 40_000
FOLDER = str(Path(dashboard.__file__).parent)


class Looked:
    """A cluster under load, one viewer who reads every beat and one who never does."""

    def __init__(self) -> None:
        self.cache, self.records, self.number = Cache(), DecisionRecords(500), count()
        for each in range(NODES):
            self.cache.put_node(node(f"n{each}").offering(cpu="64").build())
        self.cluster = ClusterView(self.cache)
        self.decisions = DecisionView(self.records, lambda: 0.0, capacity=500)
        channels = (ClusterChannel(self.cluster), DecisionChannel(self.decisions))
        self.stream = EventStream(channels)
        self.stream._followed.update(("cluster", "decisions"))
        self.fast, self.slow = ({"cluster": each.cursor(), "decisions": 0} for each in self._two())
        self.largest = 0

    def _two(self) -> tuple[ClusterView, ClusterView]:
        asyncio.run(self.cluster.catch_up())
        return self.cluster, self.cluster

    def beat(self) -> None:
        """A quarter of a second."""
        for _ in range(UPDATES // 2):
            number = next(self.number)
            where = f"n{number % NODES}"
            made = pod(f"p{number % 200}").requesting(cpu="1").on(where).build()
            self.cache.put_pod(made)
            self.records.attempted(_attempt(number, where))
        asyncio.run(self.stream._catch_up())
        self.stream.viewers.beats += 1
        frames = asyncio.run(self.stream._lacking(self.fast))
        self.largest = max(self.largest, *map(len, frames.split(b"event: ")))


def _attempt(number: int, where: str) -> Attempt:
    return Attempt(
        id=f"{number:x}",
        pod=f"default/p{number % 2000}",
        uid=f"u{number}",
        profile="default-scheduler",
        result=Result.SCHEDULED,
        time=float(number),
        node=where,
    )


def held() -> int:
    """Bytes that code of the dashboard has allocated and not let go."""
    gc.collect()
    ours = (tracemalloc.Filter(True, f"{FOLDER}/*"),)
    found = tracemalloc.take_snapshot().filter_traces(ours).statistics("filename")
    return sum(each.size for each in found)


def test_nothing_grows_and_no_event_is_large() -> None:
    looked = Looked()
    for _ in range(BEATS):
        looked.beat()
    tracemalloc.start()
    looked.beat()
    before = held()
    for _ in range(BEATS):
        looked.beat()
    grown = held() - before
    tracemalloc.stop()

    assert grown < ALLOWED
    assert looked.largest < 64 << 10
    assert len(looked.stream._frames) <= 8
    behind = asyncio.run(looked.stream._lacking(looked.slow))
    assert len(behind) < 128 << 10
