"""What a custom plugin answers or changes by mistake is refused in plain words."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import (
    SKIP,
    Action,
    ClusterEvent,
    Cycle,
    Diagnosis,
    EventHint,
    Filter,
    Hint,
    Keyed,
    Node,
    NodeNames,
    Nodes,
    Nominated,
    Pod,
    PostFilter,
    PreFilter,
    PreScore,
    Rejection,
    Resource,
    Score,
    Wait,
    unschedulable,
)
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.plugin import Plugin
from moorage.framework.verdicts import Code, PluginError
from moorage.testing import Cluster, node, pod, schedule
from tests.unit.guard.guarded_cluster import cluster, complaint


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


class RenamesItself(Filter, frozen=True):
    seen: int = 0

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        self.seen += 1  # type: ignore[misc]
        return None


class GivesListsForReasons(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable(["too", "small"])  # type: ignore[arg-type]


class ReturnsScores(Score, frozen=True):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 1000

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> Any:
        return scores // 10


class Explains(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out[:] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return Rejection(Code.UNSCHEDULABLE, "small")  # type: ignore[arg-type]


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
        pytest.param(RenamesItself(), "keep your own in cycle.state", id="a field of the plugin"),
        pytest.param(
            GivesListsForReasons(),
            "TypeError: the reason ['too', 'small'] is no text: give one or several, one by one",
            id="a list for a reason",
        ),
        pytest.param(
            Says(answer=Rejection("Unschedulable", ("small",))),  # type: ignore[arg-type]
            "answered a Rejection with the code 'Unschedulable': make it by unschedulable(...)",
            id="a text for a code",
        ),
        pytest.param(
            Says(answer=Rejection(Code.UNSCHEDULABLE, "small")),  # type: ignore[arg-type]
            "answered a Rejection with the reasons 'small': reasons are texts",
            id="a text for reasons",
        ),
        pytest.param(
            Explains(), "the reasons 'small': reasons are texts", id="a text for a code's reasons"
        ),
        pytest.param(
            ReturnsScores(), "write into `scores` instead, as in `scores[:]", id="scores returned"
        ),
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


@pytest.mark.parametrize("names", ["a", ["a"], None, frozenset({1})])
def test_names_of_nodes_are_a_set_of_texts(names: Any) -> None:
    said = complaint(Bystander(answer=NodeNames(names)))

    assert f"names={names!r}): names are a set of texts, as in NodeNames(frozenset(" in said


class Nominates(PostFilter, frozen=True):
    answer: Any = None

    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(
            Nominated("a", victims=("default/old",)),  # type: ignore[arg-type]
            "nominated a node with the victims ('default/old',): victims are Pods, some of",
            id="names of victims",
        ),
        pytest.param(
            Nominated(node("a").build()),  # type: ignore[arg-type]
            "node and message are texts",
            id="a node in place of its name",
        ),
        pytest.param(
            Nominated("a", cleared=(pod("old").build(),)),  # type: ignore[arg-type]
            "cleared: these are uids of pods",
            id="pods in place of their uids",
        ),
    ],
)
def test_a_nomination_that_cannot_be_carried_out_costs_an_attempt(
    answer: Nominated, want: str
) -> None:
    """It ended the scheduler."""
    huge = pod("huge").requesting(cpu="99")

    ended = schedule(node("a"), huge, pod("web"), plugins=[Nominates(answer=answer)])

    assert ended.nodes == {"huge": "", "web": "a"}
    assert want in ended.said("huge")[0]


class Displaces(PostFilter, frozen=True):
    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> None:
        for info in list(cycle.table.pods[0].values()):
            cycle.displace(0, info)


def test_pods_are_displaced_in_trials_only() -> None:
    old, huge = pod("old").requesting(cpu="3").on("a"), pod("huge").requesting(cpu="99")
    tried = Cluster(node("a"), old, plugins=[Displaces()])

    with pytest.raises(PluginError, match=r"inside `with cycle\.trial\(\):`"):
        tried.attempt(huge)

    assert len(tried.cache.table.pods[0]) == 1


class StaysStatic(Filter, frozen=True):
    @staticmethod
    def filter(cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None if node.name == "b" else unschedulable("not b")


def test_a_hook_may_be_a_static_method() -> None:
    decided = cluster(StaysStatic()).attempt(pod("web"))

    assert isinstance(decided, Decision)
    assert decided.node == "b"


def test_an_answer_of_another_point_is_refused() -> None:
    assert "PreFilter plugin 'Bystander': answered 'yes': answer None, SKIP" in complaint(
        Bystander(answer="yes")
    )


@pytest.mark.parametrize("seconds", [0, -3.0, float("nan"), "30s"])
def test_a_wait_is_for_a_time(seconds: Any) -> None:
    with pytest.raises(ValueError, match="say how many seconds, as a number above 0"):
        Wait(seconds)


class Concerned(Filter, frozen=True):
    answer: Any = None

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None

    def concerns(self) -> int:
        said: int = self.answer
        return said


def test_concerns_are_flags() -> None:
    with pytest.raises(PluginError, match="answered 'PORTS': answer flags of Feature"):
        cluster(Concerned(answer="PORTS"))


class Hears(Filter, frozen=True):
    registered: Any = None

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None

    def events(self) -> tuple[EventHint, ...]:
        return (self.registered,)


@pytest.mark.parametrize(
    ("registered", "want"),
    [
        pytest.param(
            EventHint(Resource.NODE),  # type: ignore[arg-type]
            "its event is a ClusterEvent",
            id="a resource in place of an event",
        ),
        pytest.param(
            EventHint(ClusterEvent("Node", 1)),  # type: ignore[arg-type]
            "its event is a ClusterEvent",
            id="texts and numbers",
        ),
        pytest.param(
            EventHint(ClusterEvent(Resource.NODE, Action.ADD), "helps"),  # type: ignore[arg-type]
            "'helps', which is no function",
            id="the name of a function",
        ),
    ],
)
def test_an_event_that_no_change_would_match_is_refused(registered: EventHint, want: str) -> None:
    made = cluster(Hears(registered=registered)).profile.plugins["Hears"]

    with pytest.raises(PluginError, match=want):
        made.events()


def exits(*args: Any) -> Any:
    raise SystemExit(3)


def test_everything_that_hints_are_made_of_is_guarded() -> None:
    added = ClusterEvent(Resource.NODE, Action.ADD)
    given = EventHint(added, exits, class_hint=exits, per_spec=exits, keyed=Keyed(exits, exits))
    made = cluster(Hears(registered=given)).profile.plugins["Hears"]

    (found,) = made.events()

    assert callable(found.per_spec)
    assert found.keyed is not None
    functions = (found.hint, found.class_hint, found.per_spec, *found.keyed)
    for function in functions:
        assert function is not None
        with pytest.raises(PluginError, match="a plugin may not end the process"):
            function(pod("web").build(), None, None)  # type: ignore[call-arg]


def test_a_function_that_hints_have_in_common_stays_one() -> None:
    """Else nobody could tell that they wait for the same keys."""
    keyed = Keyed(exits, exits)
    made = [
        EventHint(ClusterEvent(Resource.NODE, a), keyed=keyed) for a in (Action.ADD, Action.ALL)
    ]
    tried = cluster(HearsTwice(registered=tuple(made))).profile.plugins["HearsTwice"]

    first, second = tried.events()

    assert first.keyed is not None
    assert second.keyed is not None
    assert first.keyed.awaited is second.keyed.awaited


class HearsTwice(Hears, frozen=True):
    def events(self) -> tuple[EventHint, ...]:
        found: tuple[EventHint, ...] = self.registered
        return found


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
