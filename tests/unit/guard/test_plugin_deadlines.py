"""A custom plugin that takes too long is interrupted, wherever it is."""

import itertools
import threading
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import (
    Cycle,
    Filter,
    Node,
    Nodes,
    Pod,
    PreFilter,
    Rejection,
    Score,
)
from moorage.framework.plugin import Plugin
from moorage.testing import Cluster, node, pod
from tests.unit.guard.guarded_cluster import LONG, SOON, Sleeps, SleepsOverAll, complaint


class Loops(Score, frozen=True):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        while True:
            pass


class CatchesEverythingOrdinary(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        while True:
            try:
                time.sleep(LONG)
            except Exception:
                continue


class SleepsBefore(PreFilter, frozen=True):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        threading.Event().wait(LONG)


class SleepsInACallback(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        def holds(value: str | None) -> bool:
            time.sleep(LONG)
            return True

        nodes.table.label("zone").truth("key", holds)


class Trickles(Filter, frozen=True):
    """Quick about each node, but there are many."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        time.sleep(0.03)
        return None


@pytest.mark.parametrize(
    ("plugin", "point"),
    [
        pytest.param(Sleeps(), "Filter", id="a filter that sleeps"),
        pytest.param(Loops(), "Score", id="a score that loops for ever"),
        pytest.param(CatchesEverythingOrdinary(), "Filter", id="one that catches every Exception"),
        pytest.param(SleepsOverAll(), "Filter", id="a vector filter that sleeps"),
        pytest.param(SleepsBefore(), "PreFilter", id="a PreFilter that waits for nobody"),
        pytest.param(SleepsInACallback(), "Filter", id="one that sleeps when we call it back"),
        pytest.param(Trickles(), "Filter", id="one that takes too long over all nodes together"),
    ],
)
def test_who_takes_too_long_is_interrupted(plugin: Plugin, point: str) -> None:
    said = complaint(plugin)

    name = type(plugin).__name__
    assert said.startswith(
        f"running {point} plugin '{name}': took longer than its deadline of 50ms"
    )
    assert "pluginGuard.deadline" in said


class Quick(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None


def test_a_deadline_is_each_attempts_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is not carried from one attempt to the next: each call takes 30 of its 50 ms here."""
    times = itertools.count(time.monotonic() + LONG, 0.03)
    monkeypatch.setattr("moorage.guard.plugin_guard.now", lambda: next(times))
    slow = Cluster(node("a"), plugins=[Quick()], guard=SOON)

    assert [slow.place(pod(f"p{i}")) for i in range(4)] == ["a"] * 4


def test_outside_of_the_main_thread_a_late_call_fails_when_it_returns() -> None:
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(complaint(Trickles())))
    thread.start()
    thread.join()

    assert "took longer than its deadline" in said[0]
