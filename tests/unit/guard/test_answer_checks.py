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
    Node,
    Nodes,
    Pod,
    PostFilter,
    PreFilter,
    PreScore,
    Rejection,
    Resource,
    Score,
)
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.plugin import Plugin
from moorage.framework.verdicts import PluginError
from moorage.testing import node, pod
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
