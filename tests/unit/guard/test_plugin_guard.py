"""Whatever a custom plugin does, an attempt ends; one that keeps failing is switched off."""

import time
from types import FunctionType

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
    Rejection,
    Score,
    unschedulable,
)
from moorage.config.moorage_configuration import PluginGuard, WhenOpen
from moorage.cycle.attempt import Decision
from moorage.framework.plugin import Plugin
from moorage.framework.points import POINTS, is_vector
from moorage.framework.verdicts import PluginError
from moorage.guard.breaker import State
from moorage.guard.deadline_watchdog import WATCHDOG
from moorage.guard.guards import WRAPPERS, Guards, is_custom
from moorage.plugins.node_name import NodeName
from moorage.testing import Cluster, node, pod
from tests.unit.guard.guarded_cluster import LONG, Sleeps, SleepsOverAll, cluster, complaint


class Flaky(Filter, Score, frozen=True):
    """Fails while `broken` holds something."""

    broken: list[int] = []  # noqa: RUF012  # shared on purpose: the test mends it

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if self.broken:
            raise RuntimeError("down")
        return unschedulable("not b") if node.name == "b" else None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 7


def outcomes(tried: Cluster, count: int) -> list[str]:
    """A letter an attempt: where the pod would go, or what it failed of."""
    said = []
    for _ in range(count):
        try:
            decided = tried.attempt(pod("web").selecting({"kubernetes.io/hostname": "b"}))
        except PluginError as error:
            said.append("off" if "switched off" in error.detail else "error")
        else:
            said.append(decided.node if isinstance(decided, Decision) else "none")
    return said


@pytest.fixture
def flaky() -> Flaky:
    return Flaky(broken=[1])


def terms(when_open: WhenOpen, score: int = 0) -> PluginGuard:
    return PluginGuard(when_open=when_open, fallback_score=score, failure_threshold=3)


def test_a_plugin_that_was_switched_off_fails_attempts_at_once(flaky: Flaky) -> None:
    tried = cluster(flaky, guard=terms(WhenOpen.FAIL))

    assert outcomes(tried, 5) == ["error", "error", "error", "off", "off"]


def test_or_is_ignored(flaky: Flaky) -> None:
    tried = cluster(flaky, guard=terms(WhenOpen.IGNORE))

    assert outcomes(tried, 5) == ["error", "error", "error", "b", "b"]


def test_or_gives_every_node_its_fallback_score(flaky: Flaky) -> None:
    tried = cluster(flaky, guard=terms(WhenOpen.FALLBACK, score=40))

    assert outcomes(tried, 4)[-1] == "b"
    assert tried.scores(pod("web"), "Flaky") == {"a": 40, "b": 40}


def test_once_it_works_again_it_is_asked_again(flaky: Flaky) -> None:
    tried = cluster(flaky, guard=terms(WhenOpen.IGNORE))
    told: list[str] = []
    tried.profile.guards.attach(lambda: tried.now, tell=lambda change: told.append(change.message))
    outcomes(tried, 4)

    flaky.broken.clear()
    assert outcomes(tried, 1) == ["b"], "the cooldown is not over"
    tried.now = 31.0
    assert outcomes(tried, 3) == ["none"] * 3
    assert [guard.state for guard in tried.profile.guards] == [State.CLOSED]
    assert told[0].startswith("plugin 'Flaky' is switched off for 30s, after 3 failed attempts")
    assert "The last failure, at Filter: RuntimeError: down" in told[0]
    assert told[1:] == ["plugin 'Flaky' works again"]


class Kept(Filter, frozen=True):
    """A vector filter whose column the engine keeps; refuses node b unless it is broken."""

    broken: list[int] = []  # noqa: RUF012  # shared on purpose: the test breaks and mends it

    depends = Depends.NODE

    def sign(self, cycle: Cycle) -> str:
        return "any"

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if self.broken:
            out[:] = 1
            raise RuntimeError("half way")
        names = [nodes.node(i).name for i in range(nodes.count)]
        out[:] = [name == "b" for name in names]

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable("not b")


def test_what_a_plugin_half_wrote_is_not_kept() -> None:
    plugin = Kept(broken=[])
    tried = cluster(plugin, guard=terms(WhenOpen.IGNORE))
    assert [tried.place(pod(f"p{i}")) for i in range(3)] == ["a"] * 3

    plugin.broken.append(1)
    tried.add(node("a").labelled(new="label"))
    with pytest.raises(PluginError):
        tried.attempt(pod("web"))
    plugin.broken.clear()

    assert tried.place(pod("web")) == "a"


def test_what_was_computed_without_a_plugin_is_not_kept() -> None:
    plugin = Kept(broken=[1])
    tried = cluster(plugin, guard=terms(WhenOpen.IGNORE))
    assert outcomes(tried, 6) == ["error"] * 3 + ["b"] * 3

    plugin.broken.clear()
    tried.now = 31.0

    assert outcomes(tried, 3) == ["none"] * 3


@pytest.mark.parametrize(
    ("plugin", "vector"),
    [
        pytest.param(Sleeps, False, id="a scalar filter stays one"),
        pytest.param(SleepsOverAll, True, id="a vector filter stays one"),
    ],
)
def test_a_guarded_plugin_has_the_form_it_had(plugin: type[Filter], vector: bool) -> None:
    made = Guards(PluginGuard(), "default-scheduler").wrap(plugin)

    assert issubclass(made, plugin)
    assert made is not plugin
    assert (made.__name__, made.__module__) == (plugin.__name__, plugin.__module__)
    assert is_vector(made(), "filter_all") is vector


class AsksItself(Filter, Score, frozen=True):
    """Hooks that call one another, of the same point and of another one."""

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if self.rejection(cycle, pod, 1).reasons == ("never",):
            out[0] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable("asked myself")

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 1 if node.name == "a" else 1 + self.score(cycle, pod, cycle.table.node(0))


class AsksItselfInVain(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        self.rejection(cycle, pod, 1)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        time.sleep(LONG)
        return unschedulable("late")


def test_hooks_may_call_one_another() -> None:
    tried = cluster(AsksItself())

    assert tried.scores(pod("web"), "AsksItself") == {"a": 1, "b": 2}
    assert WATCHDOG.running is None


def test_and_are_interrupted_all_the_same() -> None:
    assert "took longer than its deadline of 50ms" in complaint(AsksItselfInVain())
    assert WATCHDOG.running is None


ASKED_WHEN_LOADED = {"plugin_name", "origin", "check"}
OURS = {"filter_each", "score_each"}


def test_every_hook_there_is_goes_through_the_guard() -> None:
    """A hook that is added to a point has to be added to the guard."""
    hooks = {
        name
        for base in (Plugin, *POINTS.values())
        for name, value in vars(base).items()
        if not name.startswith("_") and isinstance(value, FunctionType | classmethod)
    }

    assert hooks - ASKED_WHEN_LOADED - OURS == set(WRAPPERS)


class Foresees(Filter, frozen=True):
    def admits_all(self, cycle: Cycle, pod: Pod) -> bool:
        raise RuntimeError("cloudy")

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        return None


class Inherits(Filter, frozen=True):
    def inherit(self, before: "Inherits") -> None:
        raise RuntimeError("nothing left")

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None


def test_foresight_that_fails_is_named() -> None:
    assert "running Filter plugin 'Foresees': RuntimeError: cloudy" in complaint(Foresees())


def test_a_plugin_that_cannot_take_over_begins_with_nothing() -> None:
    tried = cluster(Inherits())
    plugin = tried.profile.plugins["Inherits"]

    plugin.inherit(plugin)

    (guard,) = tried.profile.guards
    assert guard.failures == {("Inherit", "raised"): 1}


def test_ours_are_not_wrapped() -> None:
    assert not is_custom(NodeName)
    assert Guards(PluginGuard(), "default-scheduler").wrap(NodeName) is NodeName
