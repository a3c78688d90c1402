"""What is worked out for many rows at once is what a trial of each row finds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cycle import promised_rows
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.points import Filter
from moorage.framework.verdicts import Rejection, unschedulable
from moorage.plugins.node_ports import NodePorts
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.plugins.taint_toleration import TaintToleration
from moorage.preemption import candidates, imagined_rows, kept, lower_priority
from moorage.preemption.candidates import Search
from moorage.testing import Cluster, builders

FILTERS: tuple[Filter, ...] = (NodeUnschedulable(), TaintToleration(), NodeResourcesFit())


class Asking:
    """Who refuses a row, with the pods that were promised it and without; and who was asked."""

    def __init__(self, cycle: Cycle, filters: tuple[Filter, ...]) -> None:
        self.cycle = cycle
        self.filters = filters
        self.asked = 0

    def __call__(self, row: int) -> Rejection | None:
        self.asked += 1
        cache, incoming = self.cycle.cache, self.cycle.incoming
        with cache.trial():
            for info in cache.nominations.on(cache.table.node(row).name):
                if info.priority >= incoming.priority:
                    cache.place_on(row, info)
            refused = self._first_refusal(row)
        return refused or self._first_refusal(row)

    def _first_refusal(self, row: int) -> Rejection | None:
        out = np.zeros(1, dtype=np.int32)
        for plugin in self.filters:
            plugin.filter_all(self.cycle, self.cycle.pod, Nodes.one(self.cycle.table, row), out)
            if out[0]:
                return plugin.rejection(self.cycle, self.cycle.pod, int(out[0]))
        return None


def node(name: str, **offered: str) -> Node:
    allocatable = {"cpu": "4", "pods": "110", **offered}
    return decode_as({"metadata": {"name": name}, "status": {"allocatable": allocatable}}, Node)


def pod(
    name: str,
    on: str = "",
    priority: int = 0,
    cpu: str = "1",
    started: int | None = 0,
    nominated: str = "",
) -> Pod:
    status: dict[str, Any] = {"nominatedNodeName": nominated}
    if started is not None:
        status["startTime"] = f"2026-01-01T00:00:{started:02}Z"
    spec = {
        "nodeName": on,
        "priority": priority,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
    }
    labels = {"app": f"app-{len(name) % 2}"}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, Pod)


def budget(app: str, allowed: int) -> PodDisruptionBudget:
    return decode_as(
        {
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        },
        PodDisruptionBudget,
    )


def explained_by(rejection: Rejection) -> Callable[[int], Rejection]:
    return lambda _: rejection


class AnyRule(Filter, frozen=True):
    """A rule of which nothing is known: rows have to be tried."""


class OneByOne:
    """Asks as `Asking` does, but says nothing that would spare a trial."""

    filters = (AnyRule(),)

    def __init__(self, asking: "Asking") -> None:
        self._asking = asking

    def __call__(self, row: int) -> Rejection | None:
        return self._asking(row)


def search(
    cache: Cache,
    incoming: Pod,
    shared: dict[str, Any] | None = None,
    vector: bool = True,
    filters: tuple[Filter, ...] = FILTERS,
) -> Search:
    cycle = Cycle(cache, cache.info(incoming), shared=shared)
    asking = Asking(cycle, filters)
    cycle.refuses = asking if vector else OneByOne(asking)
    diagnosis = Diagnosis(cache.table)
    for row in cache.table.row_of.values():
        refused = asking(row)
        if refused is not None:
            one = np.ones(1, dtype=np.int32)
            diagnosis.refuse(np.array([row]), one, explained_by(refused))
    asking.asked = 0
    found = candidates.find_all(cycle, diagnosis)
    assert not (vector and asking.asked), "no row should have needed a trial"
    return found


def search_everywhere(cache: Cache, incoming: Pod, shared: dict[str, Any] | None = None) -> Search:
    """As after a PreFilter plugin that refused the pod on every node, before any was asked."""
    cycle = Cycle(cache, cache.info(incoming), shared=shared)
    cycle.refuses = Asking(cycle, FILTERS)
    diagnosis = Diagnosis(cache.table)
    diagnosis.pre_filter = unschedulable("not today")
    return candidates.find_all(cycle, diagnosis)


def told(found: Search) -> tuple[dict[str, tuple[list[str], int]], list[str], str]:
    victims = {
        name: ([pod.name for pod in victims.pods], victims.violations)
        for name, victims in found.found.items()
    }
    return victims, found.errors, found.explanation.message()


@st.composite
def pods_on(draw: st.DrawFn, where: str) -> list[Pod]:
    starts = st.one_of(st.none(), st.integers(0, 2))
    return [
        pod(
            f"{where}-{number}" + "x" * draw(st.integers(0, 1)),
            where,
            draw(st.integers(-1, 3)),
            draw(st.sampled_from(["0", "1", "500m", "2"])),
            draw(starts),
        )
        for number in range(draw(st.integers(0, 16)))
    ]


@st.composite
def clusters(draw: st.DrawFn) -> Cache:
    cache = Cache()
    for number in range(draw(st.integers(1, 4))):
        name = f"n{number}"
        pods = draw(pods_on(name))
        room = draw(st.sampled_from([110, len(pods), max(len(pods) - 1, 0)]))
        cache.put_node(node(name, cpu=draw(st.sampled_from(["1", "4", "8"])), pods=str(room)))
        for each in pods:
            cache.put_pod(each)
        if draw(st.booleans()):
            promised = pod(f"promised-{name}", "", draw(st.integers(0, 3)), nominated=name)
            cache.nominations.put(cache.info(promised), name)
    for app in draw(st.sets(st.sampled_from(["app-0", "app-1"]))):
        cache.objects.put(budget(app, draw(st.integers(0, 3))))
    return cache


incoming_pods = st.builds(
    lambda priority, cpu: pod("incoming", "", priority, cpu),
    st.integers(0, 4),
    st.sampled_from(["1", "2", "4"]),
)


@given(clusters(), incoming_pods)
def test_many_rows_at_once_equal_a_trial_of_each(cache: Cache, incoming: Pod) -> None:
    at_once = told(search(cache, incoming))
    one_by_one = told(search(cache, incoming, vector=False))

    assert one_by_one == at_once
    validate_cache(cache)


@given(clusters(), incoming_pods, st.data())
def test_what_is_kept_stays_true(cache: Cache, incoming: Pod, data: st.DataObject) -> None:
    shared: dict[str, Any] = {}
    for step in range(3):
        assert told(search(cache, incoming)) == told(search(cache, incoming, shared))
        change = data.draw(st.sampled_from(CHANGES))
        change(cache, step)


def _remove_a_pod(cache: Cache, step: int) -> None:
    for uid in sorted(info.uid for _, info in cache.pods())[:1]:
        cache.remove_pod(uid)


def _add_a_pod(cache: Cache, step: int) -> None:
    cache.put_pod(pod(f"added-{step}", "n0", step, "1", step))


def _shrink_a_node(cache: Cache, step: int) -> None:
    cache.put_node(node("n0", cpu="2", pods="3"))


def _protect_everything(cache: Cache, step: int) -> None:
    cache.objects.put(budget("app-0", step))


def _promise(cache: Cache, step: int) -> None:
    cache.nominations.put(cache.info(pod(f"promised-{step}", "", 3)), "n0")


def _name_a_resource(cache: Cache, step: int) -> None:
    cache.put_node(node("n0", **{f"example.com/{n}": "1" for n in range(6 * (step + 1))}))


CHANGES: list[Callable[[Cache, int], None]] = [
    _remove_a_pod,
    _add_a_pod,
    _shrink_a_node,
    _protect_everything,
    _promise,
    _name_a_resource,
]


@given(clusters(), st.integers(-2, 5))
def test_sums_below_a_priority_equal_fresh_ones(cache: Cache, priority: int) -> None:
    sums, want = lower_priority.LowerUsage(cache.table), lower_priority.fresh(cache.table, priority)

    np.testing.assert_array_equal(want.pods, sums.below(priority).pods)
    np.testing.assert_array_equal(want.requested, sums.below(priority).requested)


def test_with_very_many_priorities_sums_are_made_afresh() -> None:
    cache = Cache()
    cache.put_node(node("n0", cpu="999"))
    for priority in range(lower_priority.MOST_LEVELS + 1):
        cache.put_pod(pod(f"p{priority}", "n0", priority))

    assert lower_priority.LowerUsage(cache.table).below(100).pods[0] == 100


def test_sums_follow_pods_of_priorities_that_come_and_go() -> None:
    cache = Cache()
    cache.put_node(node("n0", cpu="999"))
    cache.put_node(node("n1", cpu="999"))
    cache.put_pod(pod("stays", "n0", 7))
    sums, follower = lower_priority.LowerUsage(cache.table), Follower(cache.table.pod_log)
    many = lower_priority.MOST_LEVELS + 50
    for priority in range(many):
        cache.put_pod(pod(f"p{priority}", f"n{priority % 2}", priority))
        if priority % 3:
            follower.read(cache.table.pod_log, lambda changes: sums.apply(changes or ()))
            _as_fresh(cache, sums, 100)
        cache.remove_pod(f"p{priority - 20}")

    follower.read(cache.table.pod_log, lambda changes: sums.apply(changes or ()))
    assert len(sums._levels) <= 21
    for priority in range(many):
        cache.put_pod(pod(f"q{priority}", "n1", priority))
    follower.read(cache.table.pod_log, lambda changes: sums.apply(changes or ()))
    _as_fresh(cache, sums, 100)
    assert not sums._levels
    for priority in range(many):
        cache.remove_pod(f"q{priority}")
    follower.read(cache.table.pod_log, lambda changes: sums.apply(changes or ()))
    _as_fresh(cache, sums, many)
    assert 0 < len(sums._levels) <= 21


def _as_fresh(cache: Cache, sums: lower_priority.LowerUsage, priority: int) -> None:
    found, want = sums.below(priority), lower_priority.fresh(cache.table, priority)
    np.testing.assert_array_equal(want.pods, found.pods)
    np.testing.assert_array_equal(want.requested, found.requested)


def test_a_verdict_is_kept_until_its_row_changes() -> None:
    cache, shared = Cache(), dict[str, Any]()
    for name in ("n0", "n1"):
        cache.put_node(node(name, cpu="1"))
        cache.put_pod(pod(f"low-{name}", name))
    first = search(cache, pod("a", "", 5), shared).found
    cache.remove_pod("low-n1")
    cache.put_pod(pod("other", "n1"))
    second = search(cache, pod("b", "", 5), shared).found

    assert first["n0"] is second["n0"]
    assert [victim.name for victim in second["n1"].pods] == ["other"]


def test_a_verdict_does_not_outlast_a_promise() -> None:
    cache, shared = Cache(), dict[str, Any]()
    cache.put_node(node("n0", cpu="2"))
    cache.put_pod(pod("a", "n0", started=1))
    cache.put_pod(pod("b", "n0", started=2))
    promised = cache.info(pod("promised", "", 5))

    def victims() -> list[str]:
        found = search_everywhere(cache, pod("c", "", 5), shared).found
        return [victim.name for victim in found["n0"].pods]

    assert victims() == ["b"]
    cache.nominations.put(promised, "n0")
    assert victims() == ["a", "b"]
    cache.nominations.remove(promised.uid)
    assert victims() == ["b"]


def test_what_is_kept_for_one_priority_does_not_serve_another() -> None:
    cache, shared = Cache(), dict[str, Any]()
    cache.put_node(node("n0", cpu="2"))
    cache.put_pod(pod("low", "n0", 1))
    cache.put_pod(pod("mid", "n0", 3))
    for priority, want in ((5, ["mid", "low"]), (2, ["low"]), (5, ["mid", "low"])):
        cpu = "2" if priority == 5 else "1"
        found = search(cache, pod("incoming", "", priority, cpu), shared).found

        assert want == [victim.name for victim in found["n0"].pods]


def test_only_pods_that_the_incoming_one_yields_to_are_promised_room() -> None:
    cache = Cache()
    cache.put_node(node("n0"))
    incoming = pod("incoming", "", 5)
    cache.put_pod(pod("arrived", "n0", 9))
    for other in (incoming, pod("lower", "", 4), pod("equal", "", 5), pod("arrived", "", 9)):
        cache.nominations.put(cache.info(other), "n0")
    cache.nominations.put(cache.info(pod("lost", "", 9)), "no such node")
    cycle = Cycle(cache, cache.info(incoming))
    promised = promised_rows.promised(cycle)

    assert promised is not None
    assert promised.pods[0] == 1
    assert promised.requested[0, 0] == 1000


def test_a_row_without_victims_is_not_asked_about() -> None:
    """Where PreFilter refused the pod everywhere, rules may have nothing against the row."""
    cache = Cache()
    cache.put_node(node("n0"))
    _, errors, message = told(search_everywhere(cache, pod("incoming", "", 5)))

    assert errors == []
    assert message == ("0/1 nodes are available: 1 No preemption victims found for incoming pod.")


def test_a_trial_leaves_what_is_kept_alone() -> None:
    cache, shared = Cache(), dict[str, Any]()
    cache.put_node(node("n0", cpu="1"))
    cache.put_pod(pod("low", "n0"))
    before = search(cache, pod("a", "", 5), shared).found
    search(cache, pod("b", "", 4), shared, vector=False)

    assert before["n0"] is search(cache, pod("c", "", 5), shared).found["n0"]


def test_pods_of_equal_importance_keep_their_places_after_a_trial() -> None:
    cache = Cache()
    cache.put_node(node("n0", cpu="3"))
    for name in ("first", "second", "third"):
        cache.put_pod(pod(name, "n0"))
    search(cache, pod("incoming", "", 5), vector=False)

    assert [info.uid for info in cache.table.pods[0].values()] == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("filters", "leading", "later", "others"),
    [
        pytest.param(FILTERS, 3, 0, 0, id="rules about the node and its sums need no trial"),
        pytest.param(
            (NodeUnschedulable(), NodePorts(), NodeResourcesFit()),
            1,
            1,
            1,
            id="a rule about something else comes between",
        ),
        pytest.param((), 0, 0, 0, id="without rules nothing is refused"),
    ],
)
def test_which_rules_need_no_trial(
    filters: tuple[Filter, ...], leading: int, later: int, others: int
) -> None:
    cache = Cache()
    cycle = Cycle(cache, cache.info(pod("incoming")))
    cycle.refuses = Asking(cycle, filters)
    rules = imagined_rows.rules(cycle)

    assert (leading, later, others) == tuple(map(len, rules))


class Crowded(Filter, frozen=True):
    """Refuses nodes with many pods."""

    promises: bool = True

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out[nodes.pod_count > 8] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable("crowded")

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        if len(cycle.table) > 3:
            raise RuntimeError("too large a cluster to tell")
        return self.promises


@given(clusters(), incoming_pods, st.booleans())
def test_rows_where_other_rules_need_no_trial_are_worked_out(
    cache: Cache, incoming: Pod, promises: bool
) -> None:
    filters = (NodeUnschedulable(), Crowded(promises), TaintToleration(), NodeResourcesFit())
    cycle = Cycle(cache, cache.info(incoming))
    asking = cycle.refuses = Asking(cycle, filters)
    diagnosis = Diagnosis(cache.table)
    diagnosis.pre_filter = unschedulable("not today")
    found = told(candidates.find_all(cycle, diagnosis))
    asked, cycle.refuses = asking.asked, OneByOne(asking)

    assert found == told(candidates.find_all(cycle, diagnosis))
    crowded = any(len(pods) > 8 for pods in cache.table.pods)
    if promises and not crowded and not cache.nominations and len(cache.table) <= 3:
        assert asked == 0
    validate_cache(cache)


def test_a_rule_that_promises_nothing_is_tried() -> None:
    cache = Cache()
    cache.put_node(node("n0", cpu="1"))
    cache.put_pod(pod("low", "n0"))
    with pytest.raises(AssertionError, match="no row should have needed a trial"):
        search(cache, pod("a", "", 5), filters=(*FILTERS, Crowded(promises=False)))

    assert list(search(cache, pod("a", "", 5), filters=(*FILTERS, Crowded())).found) == ["n0"]


ASKED: list[str] = []


class OneNodeAtATime(Filter, frozen=True):
    """Notes which nodes it is asked about."""

    promises: bool

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        ASKED.append(node.name)
        return None

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        return self.promises


@pytest.mark.parametrize(("promises", "times"), [(True, 1), (False, 6)])
def test_a_scalar_rule_that_promises_is_spared_the_trial(promises: bool, times: int) -> None:
    """Asked once; or then without all victims, too, and with each of four that come back."""
    ASKED.clear()
    full = builders.node("n0").offering(cpu="5")
    low = [builders.pod(f"low-{n}").requesting(cpu="1").on("n0") for n in range(5)]
    cluster = Cluster(full, *low, plugins=[OneNodeAtATime(promises)])
    incoming = builders.pod("high").prioritised(9).requesting(cpu="1")

    assert "0/1 nodes are available" in cluster.why_not(incoming)
    assert ["n0"] * times == ASKED


def test_another_table_starts_afresh() -> None:
    """A what-if runs the same profile on a cache of its own."""
    shared: dict[str, Any] = {}
    for size in (1, 2):
        cache = Cache()
        for number in range(size):
            cache.put_node(node(f"n{number}", cpu="1"))
            cache.put_pod(pod(f"low-{number}", f"n{number}"))
        found = search(cache, pod("incoming", "", 5), shared)

        assert size == len(found.found)
    assert isinstance(shared[kept.KEY], kept.Kept)
