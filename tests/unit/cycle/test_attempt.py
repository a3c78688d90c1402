"""One attempt: order, verdicts, narrowing, errors."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import (
    SKIP,
    Cycle,
    Filter,
    Node,
    NodeNames,
    Nodes,
    Pod,
    PodInfo,
    PostFilter,
    PreFilter,
    PreScore,
    Rejection,
    Score,
    Skip,
    unresolvable,
    unschedulable,
)
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdicts import Code, Nominated, PluginError, SchedulingError
from moorage.testing import Cluster, node, pod


class RefuseNamed(Filter, frozen=True):
    name: str
    reason: str = "refused by name"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable(self.reason) if node.name == self.name else None


class RefuseAllVector(Filter, frozen=True):
    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out.fill(7)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(f"code {code}")


class OnlyNode(PreFilter, frozen=True):
    names: tuple[str, ...]

    def pre_filter(self, cycle: Cycle, pod: Pod) -> NodeNames:
        return NodeNames(frozenset(self.names))


class AlsoOnlyNode(OnlyNode, frozen=True):
    pass


class Prefer(Score, frozen=True):
    name: str
    points: int = 100

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return self.points if node.name == self.name else 0


class Raises(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        raise RuntimeError("out of coffee")


class Answers(Score, frozen=True):
    answer: Any

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return self.answer  # type: ignore[no-any-return]  # that is the point


class SkipsItself(PreFilter, Filter, frozen=True):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip:
        return SKIP

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable("never asked")


class SkipsScoring(PreScore, Score, frozen=True):
    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip:
        return SKIP

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        raise AssertionError("a skipped plugin is not asked")


class MakesRoom(PostFilter, frozen=True):
    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> Nominated:
        assert cycle.refuses(cycle.table.row_of["a"]) is not None
        return Nominated("a", "room is being made")


class GivesUp(PostFilter, frozen=True):
    answer: Any

    def post_filter(self, cycle: Cycle, pod: Pod, diagnosis: Diagnosis) -> Rejection:
        rejection: Rejection = self.answer
        return rejection


def two_nodes(*plugins: Any, alone: bool = True) -> Cluster:
    return Cluster(node("a"), node("b"), plugins=plugins, alone=alone)


def test_a_scalar_filter_rules_a_node_out() -> None:
    decided = two_nodes(RefuseNamed(name="a")).attempt(pod("web"))

    assert isinstance(decided, Decision)
    assert decided.node == "b"


def test_the_first_plugin_in_configured_order_is_the_one_reported_whichever_kind_it_is() -> None:
    scalar_first = two_nodes(RefuseNamed(name="a"), RefuseAllVector())

    decided = scalar_first.attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    told = {
        decided.diagnosis.table.node(row).name: rejection.plugin
        for row, rejection in decided.diagnosis.rejections()
    }
    assert told == {"a": "RefuseNamed", "b": "RefuseAllVector"}
    assert decided.message == "0/2 nodes are available: 1 code 7, 1 refused by name."
    assert decided.diagnosis.unschedulable_plugins == {"RefuseNamed", "RefuseAllVector"}


def test_a_vector_filter_configured_first_hides_the_scalar_one() -> None:
    decided = two_nodes(RefuseAllVector(), RefuseNamed(name="a")).attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    assert decided.message == "0/2 nodes are available: 2 code 7."
    assert list(decided.diagnosis.rows_with(Code.UNRESOLVABLE)) == [0, 1]


def test_narrowing_leaves_the_other_nodes_out_with_the_plugin_named() -> None:
    decided = two_nodes(OnlyNode(names=("a",)), RefuseNamed(name="a")).attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    assert decided.message == (
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [OnlyNode], 1 refused by name."
    )


def test_two_plugins_that_narrow_to_nothing_refuse_the_pod_together() -> None:
    decided = two_nodes(OnlyNode(names=("a",)), AlsoOnlyNode(names=("b",))).attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    assert decided.message == (
        "0/2 nodes are available: "
        "node(s) didn't satisfy plugin(s) [AlsoOnlyNode OnlyNode] simultaneously."
    )


class Refuses(PreFilter, frozen=True):
    code: Code

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection:
        return unschedulable("for now") if self.code is Code.UNSCHEDULABLE else unresolvable("ever")


class RefusesToo(Refuses, frozen=True):
    pass


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [
        pytest.param(
            Code.UNSCHEDULABLE, Code.UNRESOLVABLE, "RefusesToo", id="what refuses for ever decides"
        ),
        pytest.param(Code.UNRESOLVABLE, Code.UNSCHEDULABLE, "Refuses", id="and ends the search"),
    ],
)
def test_a_pod_refused_for_now_may_still_be_refused_for_ever(
    first: Code, second: Code, want: str
) -> None:
    decided = two_nodes(Refuses(code=first), RefusesToo(code=second)).attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    assert decided.diagnosis.unschedulable_plugins == {want}
    assert decided.message == "0/2 nodes are available: ever."


def test_a_plugin_that_skips_in_pre_filter_is_not_asked_in_filter() -> None:
    assert two_nodes(SkipsItself()).place(pod("web")) in {"a", "b"}


def test_a_plugin_that_skips_in_pre_score_is_not_asked_in_score() -> None:
    assert two_nodes(SkipsScoring(), Prefer(name="b")).place(pod("web")) == "b"


def test_the_best_score_wins() -> None:
    cluster = two_nodes(Prefer(name="b"))

    assert cluster.scores(pod("web"), "Prefer") == {"a": 0, "b": 100}
    assert cluster.place(pod("web")) == "b"


class Chooses(PreFilter, frozen=True):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        cycle.state["chosen"] = pod.labels["wants"]


class Follows(Score, frozen=True):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 if cycle.state["chosen"] == node.name else 0


@pytest.mark.parametrize("wants", ["a", "b"])
def test_what_one_plugin_notes_another_reads_in_the_same_attempt(wants: str) -> None:
    cluster = Cluster(node("a"), node("b"), plugins=[Chooses(), Follows()])

    assert cluster.place(pod("web").labelled(wants=wants)) == wants


def test_ties_are_broken_at_random_by_the_seed() -> None:
    picked = {
        Cluster(node("a"), node("b"), alone=True, plugins=[Prefer(name="x")], seed=seed).place(
            pod("web")
        )
        for seed in range(20)
    }

    assert picked == {"a", "b"}


def test_a_plugin_that_raises_costs_the_attempt_and_is_named() -> None:
    cluster = two_nodes(Raises())

    with pytest.raises(PluginError) as raised:
        cluster.attempt(pod("web"))

    assert str(raised.value).startswith(
        "running Filter plugin 'Raises': RuntimeError: out of coffee (in filter, line "
    )
    assert raised.value.plugin == "Raises"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        pytest.param("high", "scored node a 'high': a score is an int", id="a text is no score"),
        pytest.param(float("nan"), "scored node a nan: find out", id="a NaN is no score"),
        pytest.param(True, "scored node a True: a score is an int", id="a truth is no score"),
        pytest.param(
            10**9, "scored node a 1000000000: scores are 0", id="a score above 100 is refused"
        ),
        pytest.param(-1, "scored node a -1: scores are 0 to 100", id="a score below 0 is refused"),
        pytest.param(
            10**30, f"scored node a {10**30}: scores are 0", id="a score beyond 64 bits is refused"
        ),
    ],
)
def test_a_score_that_is_none_names_the_plugin(answer: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match="Answers") as raised:
        two_nodes(Answers(answer=answer)).attempt(pod("web"))

    assert complaint in str(raised.value)


def test_post_filter_is_told_who_refuses_and_its_words_end_the_message() -> None:
    decided = two_nodes(RefuseAllVector(), MakesRoom()).attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    assert decided.nominated is not None
    assert decided.nominated.node == "a"
    assert decided.message == "0/2 nodes are available: 2 code 7. room is being made"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(unschedulable("not by me"), "room is being made", id="another is asked"),
        pytest.param(unresolvable("by nobody"), "by nobody", id="nobody else is asked"),
    ],
)
def test_post_filter_ends_with_the_plugin_that_says_nothing_can_be_done(
    answer: Rejection, told: str
) -> None:
    decided = two_nodes(RefuseAllVector(), GivesUp(answer=answer), MakesRoom()).attempt(pod("web"))

    assert isinstance(decided, Unschedulable)
    assert decided.message == f"0/2 nodes are available: 2 code 7. {told}"
    assert (decided.nominated is not None) == (told == "room is being made")


def test_without_nodes_nothing_can_be_decided() -> None:
    with pytest.raises(SchedulingError, match="no nodes available to schedule pods"):
        Cluster().attempt(pod("web"))


def test_a_nominated_node_that_still_fits_is_taken_at_once() -> None:
    nominated = pod("web")._with(lambda raw: raw.update(status={"nominatedNodeName": "a"}))

    assert two_nodes(Prefer(name="b")).place(nominated) == "a"


def test_pods_nominated_to_a_node_are_counted_for_pods_of_no_higher_priority() -> None:
    cluster = Cluster(node("a").offering(cpu="1"))
    promised = pod("promised").requesting(cpu="800m").prioritised(10).build()
    cluster.cache.nominations.put(cluster.cache.info(promised), "a")

    assert cluster.place(pod("low").requesting(cpu="500m")) is None
    assert cluster.place(pod("high").requesting(cpu="500m").prioritised(11)) == "a"


class CountsPods(PreFilter, Filter, frozen=True):
    """Keeps a count of its own, and so must hear of trials."""

    most: int

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        cycle.state["CountsPods"] = {
            node.name: len(cycle.pods_on(node.name)) for node in cycle.nodes()
        }

    def add_pod(self, cycle: Cycle, pod: Pod, added: PodInfo, node: Node) -> None:
        cycle.state["CountsPods"][node.name] += 1

    def remove_pod(self, cycle: Cycle, pod: Pod, removed: PodInfo, node: Node) -> None:
        cycle.state["CountsPods"][node.name] -= 1

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        crowded = cycle.state["CountsPods"][node.name] >= self.most
        return unschedulable("node(s) were crowded") if crowded else None


def test_a_plugin_that_keeps_state_hears_of_the_pods_of_a_trial() -> None:
    cluster = Cluster(
        node("a"),
        pod("r1").on("a"),
        pod("r2").on("a"),
        plugins=[CountsPods(most=2)],
    )

    decided = cluster.attempt(pod("urgent").prioritised(10))

    assert isinstance(decided, Unschedulable)
    assert decided.nominated is not None
    assert decided.nominated.node == "a"
    assert len(decided.nominated.victims) == 1


def test_promised_pods_reach_plugins_that_keep_state() -> None:
    cluster = Cluster(node("a"), plugins=[CountsPods(most=1)])
    promised = pod("promised").prioritised(5).build()
    cluster.cache.nominations.put(cluster.cache.info(promised), "a")

    assert cluster.place(pod("low")) is None
    assert cluster.place(pod("high").prioritised(6)) == "a"


class Unwilling(Score, frozen=True):
    """Raises when it is asked."""

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        raise AssertionError("nobody should ask")


def test_the_only_node_that_fits_is_taken_without_scoring() -> None:
    cluster = Cluster(node("a"), node("b").cordoned(), plugins=[Unwilling()])

    assert cluster.place(pod("web")) == "a"
