"""A custom plugin that takes too long is interrupted, wherever it is."""

import itertools
import threading
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import (
    Cycle,
    Depends,
    Filter,
    Node,
    Nodes,
    Pod,
    PreFilter,
    Rejection,
    Reserve,
    Score,
    unresolvable,
)
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import PluginGuard
from moorage.framework.plugin import Plugin
from moorage.guard import plugin_guard
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


PASSED: list[float] = []
"""Seconds that plugins have taken, by a clock that they turn on."""


class Explains(Filter, frozen=True):
    """A column that is kept: `rejection` is all that is called for the pods after the first."""

    depends = Depends.NODE

    def sign(self, cycle: Cycle) -> str:
        return "any pod"

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out[:] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        PASSED.append(0.5)
        return unresolvable("no")


class GivesBack(Reserve, frozen=True):
    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        PASSED.append(4.0)


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch) -> PluginGuard:
    """A guard with a deadline of 10 s, by a clock that plugins turn on."""
    PASSED.clear()
    monkeypatch.setattr(plugin_guard, "now", lambda: time.monotonic() + sum(PASSED))
    return PluginGuard(deadline=Duration.parse("10s"), failure_threshold=0)


def test_explanations_of_attempts_are_not_added_up(turned: PluginGuard) -> None:
    tried = Cluster(node("a"), plugins=[Explains()], guard=turned)

    for number in range(40):
        assert "1 no" in tried.why_not(pod(f"p{number}"))

    assert sum(PASSED) > 10


def test_what_is_given_back_for_one_pod_takes_no_time_of_the_next(turned: PluginGuard) -> None:
    """It was interrupted for ever, once all of it together had taken as long as the deadline."""
    tried = Cluster(node("a"), plugins=[GivesBack()], guard=turned)
    (plugin,) = [each for name, each in tried.profile.reserve if name == "GivesBack"]

    for number in range(5):
        cycle = tried.cycle(pod(f"p{number}"))
        plugin.unreserve(cycle, cycle.pod, node("a").build())

    assert len(PASSED) == 5
