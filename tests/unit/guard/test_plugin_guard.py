"""Whatever a custom plugin does, an attempt ends, and the error says whose fault it is."""

import itertools
import threading
import time
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import (
    SKIP,
    Action,
    ClusterEvent,
    Cycle,
    Depends,
    Diagnosis,
    EventHint,
    Filter,
    Hint,
    Node,
    Nodes,
    Pod,
    PostFilter,
    PreFilter,
    PreScore,
    Rejection,
    Resource,
    Score,
    unschedulable,
)
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import PluginGuard, WhenOpen
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.plugin import Plugin
from moorage.framework.points import POINTS, is_vector
from moorage.framework.verdicts import PluginError
from moorage.guard.breaker import State
from moorage.guard.deadline_watchdog import WATCHDOG
from moorage.guard.guards import WRAPPERS, Guards, is_custom
from moorage.plugins.node_name import NodeName
from moorage.testing import Cluster, node, pod

SOON = PluginGuard(deadline=Duration.parse("50ms"))
LONG = 3600.0


def cluster(*plugins: Plugin, guard: PluginGuard = SOON) -> Cluster:
    return Cluster(node("a"), node("b"), plugins=plugins, guard=guard)


def complaint(plugin: Plugin, guard: PluginGuard = SOON) -> str:
    """What an attempt with the plugin fails of; the cache is as it was."""
    with pytest.raises(PluginError) as raised:
        cluster(plugin, guard=guard).attempt(pod("web"))
    return str(raised.value)


class Sleeps(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        time.sleep(LONG)
        return None


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


class SleepsOverAll(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        time.sleep(LONG)


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


class Raises(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        raise KeyError("zone")


class Answers(Score, frozen=True):
    answer: Any = None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        answer: int = self.answer
        return answer


class Says(Filter, frozen=True):
    answer: Any = None

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        answer: Rejection | None = self.answer
        return answer


class Writes(Score, frozen=True):
    answer: Any = None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        with np.errstate(invalid="ignore"):
            out[:] = self.answer


class Returns(Score, frozen=True):
    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> Any:
        return np.ones(nodes.count)


class WritesCodes(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out[1] = -1


class ReturnsMask(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> Any:
        return np.ones(nodes.count, dtype=bool)


class NormalizesBadly(Score, frozen=True):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 1000

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        scores[1] = 101


class LabelsNodes(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        node.labels["seen"] = "true"
        return None


class Annotates(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        pod.annotations["seen"] = "true"
        return None


class LabelsPods(PreFilter, frozen=True):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        pod.labels.update(seen="true")


class TakesRoom(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        nodes.free[0] -= 1000


class TakesRoomByTheTable(Score, frozen=True):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        cycle.table.requested[0, 0] = 0
        return 0


class Renames(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        node.metadata.name = "other"  # type: ignore[misc]
        return None


NAN = np.array([1.0, float("nan")])


@pytest.mark.parametrize(
    ("plugin", "want"),
    [
        pytest.param(
            Raises(), "Filter plugin 'Raises': KeyError: 'zone' (in filter, line", id="raises"
        ),
        pytest.param(
            Answers(answer=float("nan")),
            "Score plugin 'Answers': scored node a nan: find out where that comes from",
            id="a NaN",
        ),
        pytest.param(
            Answers(answer=10**9),
            "'Answers': scored node a 1000000000: scores are 0 to",
            id="10**9",
        ),
        pytest.param(
            Answers(answer="high"), "'Answers': scored node a 'high': a score", id="a text"
        ),
        pytest.param(
            Answers(answer=None), "'Answers': scored node a None: a score is", id="nothing"
        ),
        pytest.param(Answers(answer=49.5), "scored node a 49.5: a score is a whole", id="a float"),
        pytest.param(Says(answer=False), "'Says': answered False: answer None or a", id="a truth"),
        pytest.param(
            Says(answer="full"), "(asked about node a)", id="a text where nodes are refused"
        ),
        pytest.param(
            Writes(answer=NAN), "scored node b -9223372036854775808 (what", id="NaN written"
        ),
        pytest.param(
            Writes(answer=101), "'Writes': scored node a 101: scores are", id="101 written"
        ),
        pytest.param(Writes(answer=[1, 2, 3]), "could not broadcast", id="the wrong shape written"),
        pytest.param(Writes(answer=["x", "y"]), "ValueError: invalid literal", id="texts written"),
        pytest.param(
            Returns(), "'Returns': returned an array of shape (2,) and", id="an array returned"
        ),
        pytest.param(WritesCodes(), "wrote the code -1 for node b", id="a negative code written"),
        pytest.param(ReturnsMask(), "write into `out` instead", id="a mask returned"),
        pytest.param(NormalizesBadly(), "NormalizeScore plugin", id="normalised out of range"),
        pytest.param(
            LabelsNodes(), "'LabelsNodes': MutationError: what a plugin is given", id="a label"
        ),
        pytest.param(
            LabelsPods(), "PreFilter plugin 'LabelsPods': MutationError: what", id="a pod's label"
        ),
        pytest.param(Annotates(), "MutationError: what a plugin", id="an annotation, the first"),
        pytest.param(TakesRoom(), "is read-only", id="a column of the view"),
        pytest.param(TakesRoomByTheTable(), "is read-only", id="a column of the table"),
        pytest.param(Renames(), "immutable type", id="a field of an object"),
    ],
)
def test_nonsense_is_refused_in_plain_words(plugin: Plugin, want: str) -> None:
    assert want in complaint(plugin)


def test_nothing_has_changed_after_a_plugin_tried_to_change_it() -> None:
    tried = cluster(LabelsNodes())
    before = tried.cache.table.free.copy()
    with pytest.raises(PluginError):
        tried.attempt(pod("web"))

    assert "seen" not in tried.cache.table.node(0).labels
    assert (tried.cache.table.free == before).all()


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
    tried.profile.guards.tell = lambda change: told.append(change.message)
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


class Bystander(PreFilter, PreScore, PostFilter, frozen=True):
    answer: Any = SKIP

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        return self.answer

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return self.answer

    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> Any:
        return None if self.answer is SKIP else self.answer


def test_answers_that_a_point_allows_pass() -> None:
    tried = cluster(Bystander())

    assert isinstance(tried.attempt(pod("web")), Decision)
    assert isinstance(tried.attempt(pod("huge").requesting(cpu="99")), Unschedulable)


def test_an_answer_of_another_point_is_refused() -> None:
    assert "PreFilter plugin 'Bystander': answered 'yes': answer None, SKIP" in complaint(
        Bystander(answer="yes")
    )


class Hints(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None

    def events(self) -> tuple[EventHint, ...]:
        added = ClusterEvent(Resource.NODE, Action.ADD)
        return (EventHint(added, lambda pod, old, new: "yes"),)  # type: ignore[arg-type,return-value]


def test_a_hint_that_is_none_is_refused() -> None:
    made = cluster(Hints()).profile.plugins["Hints"]
    hint = made.events()[0].hint
    assert hint is not None

    with pytest.raises(PluginError, match=r"answer Hint\.QUEUE or Hint\.SKIP"):
        hint(pod("web").build(), None, node("c").build())

    assert isinstance(Hint.QUEUE, Hint)


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
