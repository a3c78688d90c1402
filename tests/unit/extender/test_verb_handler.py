"""What plugins say to what a stock kube-scheduler asks."""

from typing import Any

import msgspec
import pytest

from moorage import (
    Cycle,
    Filter,
    Node,
    NodeNames,
    Pod,
    PreFilter,
    Rejection,
    Score,
    unresolvable,
    unschedulable,
)
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.config.resolved_profile import Enabled, ResolvedProfile
from moorage.cycle.profile import Profile
from moorage.extender import protocol
from moorage.extender.protocol import WireDecodeError
from moorage.extender.request_nodes import FORGET_SECONDS, UNKNOWN_NODE
from moorage.extender.verb_handler import VerbHandler
from moorage.framework.plugin import Plugin
from moorage.framework.points import points_of
from moorage.framework.verdicts import PluginError
from moorage.testing import NodeBuilder, PodBuilder, node, pod

Raw = dict[str, Any]
CROWDED = unschedulable("node(s) were crowded")


class Zones(PreFilter, Filter, Score, frozen=True):
    """Pods stay in their zone; at most one other pod may be there; big nodes are better."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | NodeNames | None:
        if pod.labels.get("zone") == "nowhere":
            return unresolvable("there is no such zone")
        if pod.labels.get("zone") == "full":
            return unschedulable("the zone is full")
        only = pod.labels.get("only")
        return NodeNames(frozenset({only})) if only else None

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.labels.get("zone", node.zone) != node.zone:
            return unresolvable("node(s) were in another zone")
        return CROWDED if len(cycle.pods_on(node.name)) > 1 else None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return int(node.labels.get("size", "0"))


class Broken(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        raise ZeroDivisionError("oops")


class Told:
    """An extender for some plugins, and a clock to move."""

    def __init__(self, *objects: NodeBuilder | PodBuilder, follows: bool = True) -> None:
        self.cache = Cache()
        self.now = 1000.0
        self.follows = follows
        for obj in objects:
            built = obj.build()
            if isinstance(built, Node):
                self.cache.put_node(built)
            else:
                self.cache.put_pod(built)
        self.answering = self.with_plugins(Zones())

    def with_plugins(self, *plugins: Plugin, weight: int = 1) -> VerbHandler:
        named = {type(plugin).plugin_name(): plugin for plugin in plugins}
        points: dict[str, tuple[Enabled, ...]] = {}
        for name, plugin in named.items():
            for point in points_of(type(plugin)):
                points[point] = (*points.get(point, ()), Enabled(name, weight))
        profile = Profile(ResolvedProfile("x", None, points, {}), named)
        return VerbHandler(
            profile,
            self.cache,
            follows=self.follows,
            now=lambda: self.now,
        )


def raw(obj: Any) -> msgspec.Raw:
    built = obj.build() if isinstance(obj, NodeBuilder | PodBuilder) else obj
    return msgspec.Raw(msgspec.json.encode(built))


def by_name(incoming: PodBuilder, *names: str) -> protocol.ExtenderArgs:
    return protocol.ExtenderArgs(pod=raw(incoming), node_names=list(names))


def whole(incoming: PodBuilder, *nodes: NodeBuilder) -> protocol.ExtenderArgs:
    return protocol.ExtenderArgs(pod=raw(incoming), nodes=raw({"items": [raw(n) for n in nodes]}))


def three(**more: Any) -> Told:
    return Told(
        node("a").in_zone("north").labelled(size="100"),
        node("b").in_zone("south").labelled(size="44"),
        node("c").in_zone("south").labelled(size="46"),
        pod("p1").on("c"),
        pod("p2").on("c"),
        **more,
    )


def test_nodes_pass_or_are_refused_in_the_plugins_words() -> None:
    answer = three().answering.filter(by_name(pod("web").labelled(zone="south"), "a", "b", "c"))

    assert answer.node_names == ["b"]
    assert answer.nodes is None
    assert answer.failed_nodes == {"c": "node(s) were crowded"}
    assert answer.failed_and_unresolvable_nodes == {"a": "node(s) were in another zone"}
    assert answer.error == ""


def test_only_the_nodes_asked_about_are_answered_for() -> None:
    answer = three().answering.filter(by_name(pod("web"), "c"))

    assert answer.node_names == []
    assert answer.failed_nodes == {"c": "node(s) were crowded"}
    assert answer.failed_and_unresolvable_nodes == {}


def test_a_node_nobody_has_heard_of_is_refused_for_now() -> None:
    answer = three().answering.filter(by_name(pod("web"), "a", "z"))

    assert answer.node_names == ["a"]
    assert answer.failed_nodes == {"z": UNKNOWN_NODE}


def test_nodes_are_refused_where_nobody_has_heard_of_any() -> None:
    answer = three().answering.filter(by_name(pod("web"), "y", "z"))

    assert answer.node_names == []
    assert answer.failed_nodes == {"y": UNKNOWN_NODE, "z": UNKNOWN_NODE}


def test_a_request_about_no_node_is_answered_with_none() -> None:
    answer = three().answering.filter(by_name(pod("web")))

    assert answer.node_names == []
    assert answer.failed_nodes == {}
    assert answer.failed_and_unresolvable_nodes == {}


@pytest.mark.parametrize("asked", [["b"], ["b", "c"]], ids=["one node", "several nodes"])
def test_nodes_are_refused_where_the_plugin_wants_none_of_them(asked: list[str]) -> None:
    answer = three().answering.filter(by_name(pod("web").labelled(only="a"), *asked))

    assert answer.node_names == []
    why = "node(s) didn't satisfy plugin(s) [Zones]"
    assert answer.failed_and_unresolvable_nodes == dict.fromkeys(asked, why)


def test_a_pod_refused_at_first_sight_is_refused_everywhere() -> None:
    answer = three().answering.filter(by_name(pod("web").labelled(zone="nowhere"), "a", "b"))

    assert answer.node_names == []
    why = "there is no such zone"
    assert answer.failed_and_unresolvable_nodes == {"a": why, "b": why}


def test_a_plugin_may_narrow_the_search() -> None:
    answer = three().answering.filter(by_name(pod("web").labelled(only="b"), "a", "b"))

    assert answer.node_names == ["b"]
    assert answer.failed_and_unresolvable_nodes == {"a": "node(s) didn't satisfy plugin(s) [Zones]"}


def test_scores_go_from_0_to_10() -> None:
    found = three().answering.prioritize(by_name(pod("web"), "a", "b", "c", "z"))

    assert {host.host: host.score for host in found} == {"a": 10, "b": 4, "c": 5, "z": 0}


def test_weights_cancel_out() -> None:
    answering = three().with_plugins(Zones(), weight=7)

    found = answering.prioritize(by_name(pod("web"), "a", "b", "c"))

    assert {host.host: host.score for host in found} == {"a": 10, "b": 4, "c": 5}


def test_without_plugins_that_score_all_nodes_are_alike() -> None:
    found = three().with_plugins(Broken()).prioritize(by_name(pod("web"), "a", "b"))

    assert [host.score for host in found] == [0, 0]


def test_whole_nodes_are_sent_back_as_they_came() -> None:
    told = Told(follows=False)
    nodes = node("a").in_zone("north"), node("b").in_zone("south").annotated(note="x")

    answer = told.answering.filter(whole(pod("web").labelled(zone="south"), *nodes))

    assert answer.node_names is None
    assert answer.nodes is not None
    (kept,) = msgspec.json.decode(answer.nodes)["items"]
    assert kept["metadata"]["annotations"] == {"note": "x"}
    assert answer.failed_and_unresolvable_nodes == {"a": "node(s) were in another zone"}


def test_a_node_that_changed_is_looked_at_anew_and_one_that_did_not_is_not_read_again() -> None:
    told = Told(follows=False)
    told.answering.filter(whole(pod("web"), node("a").in_zone("north"), node("b")))
    same = told.cache.table.node(told.cache.table.row_of["b"])

    answer = told.answering.filter(
        whole(pod("web").labelled(zone="north"), node("a").in_zone("south"), node("b"))
    )

    assert set(answer.failed_and_unresolvable_nodes or {}) == {"a", "b"}
    assert told.cache.table.node(told.cache.table.row_of["b"]) is same
    validate_cache(told.cache)


def test_nodes_that_nobody_speaks_of_are_forgotten() -> None:
    told = Told(follows=False)
    told.answering.filter(whole(pod("web"), node("a"), node("b")))
    told.now += FORGET_SECONDS / 2
    told.answering.filter(whole(pod("web"), node("b")))
    told.now += FORGET_SECONDS / 2 + 1

    told.answering.filter(whole(pod("web"), node("c")))

    assert set(told.cache.table.row_of) == {"b", "c"}
    validate_cache(told.cache)


def test_nodes_of_a_cluster_that_is_followed_stay_though_nobody_speaks_of_them() -> None:
    told = Told(node("a"), node("b"))
    told.answering.filter(whole(pod("web"), node("a"), node("b")))
    told.now += FORGET_SECONDS + 1

    told.answering.filter(whole(pod("web"), node("b").annotated(note="new")))

    assert set(told.cache.table.row_of) == {"a", "b"}
    answer = told.answering.filter(by_name(pod("web"), "a", "b"))
    assert answer.node_names == ["a", "b"]


def test_a_node_whose_text_went_back_and_forth_is_what_it_was_last_said_to_be() -> None:
    told = Told(follows=False)
    south = pod("web").labelled(zone="south")
    passed = [
        told.answering.filter(whole(south, node("a").in_zone(zone))).nodes
        for zone in ("south", "north", "south", "north")
    ]

    assert [len(msgspec.json.decode(each or b"{}")["items"]) for each in passed] == [1, 0, 1, 0]


def test_where_a_cluster_is_followed_it_is_believed_and_not_the_request() -> None:
    answer = three().answering.filter(
        whole(pod("web").labelled(zone="south"), node("b").in_zone("north"))
    )

    assert answer.nodes is not None
    assert len(msgspec.json.decode(answer.nodes)["items"]) == 1


def victims(**by_node: list[str]) -> dict[str, protocol.MetaVictims]:
    return {
        name: protocol.MetaVictims(pods=[protocol.MetaPod(uid=uid) for uid in uids])
        for name, uids in by_node.items()
    }


def test_candidates_remain_where_no_plugin_refuses_the_pod_once_victims_are_gone() -> None:
    told = three()
    uid = next(info.uid for _, info in told.cache.pods() if info.pod.name == "p1")
    args = protocol.ExtenderPreemptionArgs(
        pod=raw(pod("web").labelled(zone="south")),
        node_name_to_meta_victims=victims(a=["x"], c=[uid], z=["y"]),
    )

    answer = told.answering.preempt(args)

    assert answer.node_name_to_meta_victims == victims(c=[uid], z=["y"])
    validate_cache(told.cache)


def test_a_node_that_stays_crowded_is_no_candidate() -> None:
    args = protocol.ExtenderPreemptionArgs(
        pod=raw(pod("web")), node_name_to_meta_victims=victims(c=["somebody else"])
    )

    assert three().answering.preempt(args).node_name_to_meta_victims == {}


def test_a_candidate_outside_of_what_a_plugin_narrows_to_is_refused() -> None:
    args = protocol.ExtenderPreemptionArgs(
        pod=raw(pod("web").labelled(only="b")), node_name_to_meta_victims=victims(a=[], b=[])
    )

    assert three().answering.preempt(args).node_name_to_meta_victims == victims(b=[])


@pytest.mark.parametrize(
    ("zone", "want"), [("nowhere", victims()), ("full", victims(a=["x"], b=["y"]))]
)
def test_what_pre_filter_refuses_for_ever_no_victim_helps(
    zone: str, want: dict[str, protocol.MetaVictims]
) -> None:
    args = protocol.ExtenderPreemptionArgs(
        pod=raw(pod("web").labelled(zone=zone)),
        node_name_to_meta_victims=victims(a=["x"], b=["y"]),
    )

    assert three().answering.preempt(args).node_name_to_meta_victims == want


def test_victims_may_come_as_a_whole() -> None:
    gone = pod("p9").build()
    whole_victims = {"b": protocol.Victims(pods=[raw(gone)], num_pdb_violations=2)}
    args = protocol.ExtenderPreemptionArgs(pod=raw(pod("web")), node_name_to_victims=whole_victims)

    answer = three().answering.preempt(args)

    left = protocol.MetaVictims(pods=[protocol.MetaPod(uid=gone.uid)], num_pdb_violations=2)
    assert answer.node_name_to_meta_victims == {"b": left}


def test_a_plugin_that_raises_is_named() -> None:
    with pytest.raises(
        PluginError, match="running Filter plugin 'Broken': ZeroDivisionError: oops"
    ):
        three().with_plugins(Broken()).filter(by_name(pod("web"), "a"))


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(protocol.ExtenderArgs(pod=raw({"spec": 3})), id="a pod that is none"),
        pytest.param(
            protocol.ExtenderArgs(pod=raw(pod("x")), nodes=raw({"items": [{"metadata": 3}]})),
            id="a node that is none",
        ),
        pytest.param(
            protocol.ExtenderArgs(pod=raw(pod("x")), nodes=raw([3])), id="a list that is none"
        ),
    ],
)
def test_what_cannot_be_read_is_refused(args: protocol.ExtenderArgs) -> None:
    with pytest.raises(WireDecodeError):
        three().answering.filter(args)
