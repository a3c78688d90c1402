"""DefaultPreemption as an attempt meets it: the default profile, no node fits."""

import random
from typing import Any

import pytest

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.cache.cache import Cache
from moorage.config.loader import load
from moorage.config.resolved_profile import resolve
from moorage.cycle import attempt, profile
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.events import Action, ClusterEvent, Hint, Resource
from moorage.framework.plugin import Plugin, give_handles
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import Nominated, Rejection, unschedulable
from moorage.preemption import candidates
from moorage.preemption.plugin import UNDERWAY, DefaultPreemption, evaluate, nominate
from moorage.preemption.underway import Underway
from moorage.preemption.victims import Victims

GONE = "2026-02-01T00:00:00Z"


class Brittle(Filter, frozen=True):
    """Fails on the node n0."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if node.name == "n0" and len(cycle.pods_on("n0")) == 0:
            raise RuntimeError("no idea")
        return None


class Capricious(PreFilter, frozen=True):
    """Refuses every pod, though no pod is in its way."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection:
        return unschedulable("not today")


def profile_with(*extra: type[Plugin], **args: int) -> Profile:
    known = built_in_plugins.built_in()
    for plugin in extra:
        known.add(plugin)
    described = built_in_plugins.describe_plugins(known)
    config: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": p.__name__} for p in extra]}},
                "pluginConfig": [{"name": "DefaultPreemption", "args": args}] if args else [],
            }
        ],
    }
    loaded = load(config, known=described, source="config")
    return profile.build(resolve(loaded.configuration.profiles[0], described), known)


@pytest.fixture
def default() -> Profile:
    return profile_with()


def node(name: str, cpu: str = "2", **spec: Any) -> Node:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return decode_as(
        {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": allocatable}}, Node
    )


def pod(
    name: str,
    on: str = "",
    priority: int = 0,
    cpu: str = "1",
    *,
    started: int = 0,
    nominated: str = "",
    deleted: bool = False,
    condition: tuple[str, str] | None = None,
    **spec: Any,
) -> Pod:
    status: dict[str, Any] = {
        "nominatedNodeName": nominated,
        "startTime": f"2026-01-01T00:00:{started:02}Z",
    }
    if condition is not None:
        status["conditions"] = [
            {"type": "DisruptionTarget", "status": condition[0], "reason": condition[1]}
        ]
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": name}
    metadata["labels"] = {"app": name.split("-")[0]}
    if deleted:
        metadata["deletionTimestamp"] = GONE
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    spec |= {"nodeName": on, "priority": priority, "containers": containers}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, Pod)


def budget(app: str, allowed: int = 0) -> PodDisruptionBudget:
    return decode_as(
        {
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        },
        PodDisruptionBudget,
    )


def cluster(*things: Node | Pod | PodDisruptionBudget) -> Cache:
    cache = Cache()
    for thing in things:
        if isinstance(thing, Node):
            cache.put_node(thing)
        elif isinstance(thing, PodDisruptionBudget):
            cache.objects.put(thing)
        elif thing.spec.node_name:
            cache.put_pod(thing)
        else:
            cache.nominations.put(cache.info(thing), thing.status.nominated_node_name)
    return cache


def tried(chosen: Profile, cache: Cache, incoming: Pod) -> Unschedulable:
    cycle = Cycle(cache, cache.info(incoming), random=random.Random(0), shared=chosen.shared)
    answer = attempt.run(chosen, cycle)
    assert isinstance(answer, Unschedulable)
    return answer


def said(answer: Unschedulable) -> str:
    """The preemption part of the FailedScheduling text."""
    return answer.message.partition(" preemption: ")[2]


def victims_of(answer: Unschedulable) -> list[str]:
    assert answer.nominated is not None
    return [victim.name for victim in answer.nominated.victims]


def test_the_least_important_pods_make_room(default: Profile) -> None:
    cache = cluster(node("n0"), pod("old", "n0", 5, started=1), pod("young", "n0", 5, started=2))
    answer = tried(default, cache, pod("incoming", priority=10))

    assert answer.nominated is not None
    assert answer.nominated.node == "n0"
    assert victims_of(answer) == ["young"]
    assert (
        answer.message == "0/1 nodes are available: 1 Insufficient cpu. preemption: "
        "found a potential placement for pod on node n0, preempting 1 victims"
    )


def test_a_pod_that_need_not_go_is_spared_though_less_important_ones_went(
    default: Profile,
) -> None:
    """Victims come back one by one, so a small one may still fit beside the incoming pod."""
    cache = cluster(
        node("n0", "3"),
        pod("large", "n0", 3, "2"),
        pod("small", "n0", 2, "500m"),
        pod("least", "n0", 1, "500m"),
    )

    assert victims_of(tried(default, cache, pod("incoming", priority=10, cpu="2"))) == ["large"]


def test_victims_are_named_most_important_first(default: Profile) -> None:
    cache = cluster(node("n0"), pod("low", "n0", 1), pod("mid", "n0", 2))

    assert victims_of(tried(default, cache, pod("incoming", priority=3, cpu="2"))) == ["mid", "low"]


def test_pods_of_equal_priority_are_never_victims(default: Profile) -> None:
    cache = cluster(node("n0"), pod("equal", "n0", 10), pod("higher", "n0", 11))

    assert said(tried(default, cache, pod("incoming", priority=10))) == (
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_protected_pods_are_spared_before_more_important_ones(default: Profile) -> None:
    cache = cluster(node("n0"), pod("web-0", "n0", 1), pod("batch-0", "n0", 2), budget("web"))

    assert victims_of(tried(default, cache, pod("incoming", priority=10))) == ["batch-0"]


def test_protected_victims_take_their_place_by_importance(default: Profile) -> None:
    cache = cluster(node("n0"), pod("web-0", "n0", 1), pod("batch-0", "n0", 2), budget("web"))

    answer = tried(default, cache, pod("incoming", priority=10, cpu="2"))

    assert victims_of(answer) == ["batch-0", "web-0"]


def test_a_node_where_no_budget_is_violated_is_chosen(default: Profile) -> None:
    cache = cluster(
        node("n0"),
        pod("web-0", "n0", 1, "2"),
        node("n1"),
        pod("batch-0", "n1", 2, "2"),
        budget("web"),
    )

    assert victims_of(tried(default, cache, pod("incoming", priority=10))) == ["batch-0"]


def test_a_pod_promised_the_node_must_fit_too(default: Profile) -> None:
    cache = cluster(
        node("n0"),
        pod("a", "n0", 1, started=1),
        pod("b", "n0", 1, started=2),
        pod("promised", priority=10, nominated="n0"),
    )

    assert victims_of(tried(default, cache, pod("incoming", priority=10))) == ["a", "b"]


@pytest.mark.parametrize(
    ("victim", "cleared"),
    [
        pytest.param(pod("low", "n0", 1, "2"), ("weak",), id="lower nominations are cleared"),
        pytest.param(
            pod("low", "n0", 1, "2", deleted=True),
            (),
            id="unless every victim is leaving already",
        ),
    ],
)
def test_nominations_of_lower_priority(
    default: Profile, victim: Pod, cleared: tuple[str, ...]
) -> None:
    cache = cluster(
        node("n0"),
        victim,
        pod("weak", priority=4, cpu="0", nominated="n0"),
        pod("strong", priority=9, cpu="0", nominated="n0"),
    )
    answer = tried(default, cache, pod("incoming", priority=5))

    assert answer.nominated is not None
    assert answer.nominated.cleared == cleared


def test_a_pod_with_the_policy_never_stays_out_of_it(default: Profile) -> None:
    cache = cluster(node("n0"), pod("low", "n0", 0, "2"))
    answer = tried(default, cache, pod("incoming", priority=9, preemptionPolicy="Never"))

    assert answer.nominated is None
    assert said(answer) == "not eligible due to preemptionPolicy=Never."


PREEMPTED = ("True", "PreemptionByScheduler")
WAITS = "not eligible due to a terminating pod on the nominated node."
TRIES = "found a potential placement for pod on node n0, preempting 1 victims"


@pytest.mark.parametrize(
    ("victim", "want"),
    [
        pytest.param(
            pod("low", "n0", 0, "2", deleted=True, condition=PREEMPTED),
            WAITS,
            id="a victim is still leaving",
        ),
        pytest.param(
            pod("low", "n0", 0, "2", deleted=True),
            TRIES,
            id="a pod is leaving that no scheduler preempted",
        ),
        pytest.param(
            pod("low", "n0", 0, "2", deleted=True, condition=("True", "EvictionByEvictionAPI")),
            TRIES,
            id="a pod is leaving for another reason",
        ),
        pytest.param(
            pod("low", "n0", 0, "2", deleted=True, condition=("False", "PreemptionByScheduler")),
            TRIES,
            id="the condition does not hold",
        ),
        pytest.param(
            pod("low", "n0", 0, "2", condition=PREEMPTED), TRIES, id="its deletion has not begun"
        ),
    ],
)
def test_victims_leaving_the_nominated_node_are_waited_for(
    default: Profile, victim: Pod, want: str
) -> None:
    answer = tried(
        default, cluster(node("n0"), victim), pod("incoming", priority=9, nominated="n0")
    )

    assert said(answer) == want


def test_nobody_waits_for_a_nominated_node_that_became_hopeless(default: Profile) -> None:
    cache = cluster(
        node("n0", unschedulable=True),
        pod("leaving", "n0", 0, "2", deleted=True, condition=PREEMPTED),
        node("n1"),
        pod("low", "n1", 0, "2"),
    )
    answer = tried(default, cache, pod("incoming", priority=9, nominated="n0"))

    assert answer.nominated is not None
    assert answer.nominated.node == "n1"


@pytest.mark.parametrize(
    ("things", "want"),
    [
        pytest.param(
            [node("n0", unschedulable=True), node("n1", "500m")],
            "0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            id="no eviction makes a node schedulable or larger",
        ),
        pytest.param(
            [node("n0"), pod("high", "n0", 10, "1500m"), pod("low", "n0", 1, "500m")],
            "0/1 nodes are available: 1 Insufficient cpu.",
            id="what still refuses the pod once its victims are gone",
        ),
        pytest.param(
            [
                node("n0"),
                pod("high-0", "n0", 10, "2"),
                node("n1", unschedulable=True),
                node("n2"),
                pod("high-2", "n2", 10, "1500m"),
                pod("low-2", "n2", 1, "500m"),
            ],
            "0/3 nodes are available: 1 Insufficient cpu, "
            "1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling.",
            id="every node is counted once",
        ),
    ],
)
def test_a_preemption_that_does_not_help_says_why_and_withdraws(
    default: Profile, things: list[Node | Pod], want: str
) -> None:
    answer = tried(default, cluster(*things), pod("incoming", priority=9, nominated="elsewhere"))

    assert answer.nominated is not None
    assert answer.nominated.node == ""
    assert said(answer) == want


def test_a_rule_that_fails_costs_one_node() -> None:
    chosen = profile_with(Brittle)
    cache = cluster(node("n0"), pod("a", "n0", 0, "2"), node("n1"), pod("b", "n1", 0, "2"))
    answer = tried(chosen, cache, pod("incoming", priority=9))

    assert answer.nominated is not None
    assert answer.nominated.node == "n1"


def test_where_every_node_fails_that_is_said() -> None:
    chosen = profile_with(Brittle)
    cache = cluster(node("n0"), pod("a", "n0", 0, "2"))
    answer = tried(chosen, cache, pod("incoming", priority=9))

    assert answer.nominated is None
    assert said(answer) == "running Filter plugin 'Brittle': RuntimeError: no idea"


def test_a_node_that_takes_the_pod_as_it_is_has_no_victims() -> None:
    """PreFilter refused the pod everywhere, and no eviction changes that."""
    chosen = profile_with(Capricious)
    cache = cluster(node("n0"), pod("a", "n0"), node("n1"), pod("b", "n1"))
    answer = tried(chosen, cache, pod("incoming", priority=9))

    assert answer.nominated is None
    assert said(answer).startswith("[expected at least one victim pod on node")
    assert 'node "n0"' in answer.message
    assert 'node "n1"' in answer.message


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "want"),
    [
        pytest.param(5000, 10, 100, 500, id="a share of many nodes"),
        pytest.param(500, 10, 100, 100, id="at least so many"),
        pytest.param(50, 10, 100, 50, id="never more than there are"),
        pytest.param(199, 50, 0, 99, id="a share is rounded down"),
    ],
)
def test_how_many_candidates_are_enough(
    nodes: int, percentage: int, absolute: int, want: int
) -> None:
    assert candidates.enough(nodes, percentage, absolute) == want


def full_nodes(count: int, *names: str) -> list[Node | Pod]:
    """Nodes that one pod each fills; those named have their own app."""
    things: list[Node | Pod] = []
    for number in range(count):
        app = f"n{number}" if f"n{number}" in names else "web"
        things += [node(f"n{number}"), pod(f"{app}-{number}", f"n{number}", 0, "2")]
    return things


def cycle_after_filtering(
    chosen: Profile, cache: Cache, incoming: Pod, seed: int = 0
) -> tuple[Cycle, Diagnosis]:
    cycle = Cycle(cache, cache.info(incoming), random=random.Random(seed), shared=chosen.shared)
    answer = attempt.run(chosen, cycle)
    assert isinstance(answer, Unschedulable)
    return cycle, answer.diagnosis


def test_the_search_ends_with_enough_candidates(default: Profile) -> None:
    found = set()
    cache = cluster(*full_nodes(20))
    for seed in range(30):
        cycle, diagnosis = cycle_after_filtering(default, cache, pod("incoming", priority=9), seed)
        search = candidates.find(cycle, diagnosis, 10, 1)
        assert len(search.found) == 2
        found |= set(search.found)

    assert len(found) > 10, "the walk starts anywhere"


def test_the_search_goes_on_until_a_candidate_violates_no_budget(default: Profile) -> None:
    cache = cluster(*full_nodes(20, "n7"), budget("web"))
    for seed in range(5):
        cycle, diagnosis = cycle_after_filtering(default, cache, pod("incoming", priority=9), seed)
        search = candidates.find(cycle, diagnosis, 0, 3)

        assert next(iter(search.found)) == "n7", "those that violate nothing come first"
        assert len(search.found) <= 4, "of the others no more than wanted are kept"


def test_evaluate_tries_every_node_and_names_every_tie(default: Profile) -> None:
    cache = cluster(*full_nodes(4), pod("dear", "n2", 5, "0"), pod("more", "n3", 0, "0"))
    cycle, diagnosis = cycle_after_filtering(default, cache, pod("incoming", priority=9))
    outcome = evaluate(cycle, diagnosis)

    assert outcome.eligible
    assert sorted(outcome.candidates) == ["n0", "n1", "n2", "n3"]
    assert outcome.chosen == ["n0", "n1", "n2", "n3"], "spared pods cost nothing"


def test_evaluate_of_a_pod_that_may_not_preempt(default: Profile) -> None:
    never = pod("incoming", priority=9, preemptionPolicy="Never")
    cycle, diagnosis = cycle_after_filtering(default, cluster(*full_nodes(1)), never)

    assert evaluate(cycle, diagnosis) == (False, {}, [])


def test_evaluate_as_the_plugin_samples(default: Profile) -> None:
    cache = cluster(*full_nodes(3))
    cycle, diagnosis = cycle_after_filtering(default, cache, pod("incoming", priority=9))

    assert len(evaluate(cycle, diagnosis, everything=False).candidates) == 3


def test_arguments_set_how_far_the_search_goes() -> None:
    chosen = profile_with(minCandidateNodesPercentage=0, minCandidateNodesAbsolute=2)
    (plugin,) = [p for name, p in chosen.post_filter if name == "DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    cache = cluster(*full_nodes(9))
    cycle, diagnosis = cycle_after_filtering(chosen, cache, pod("incoming", priority=9))

    assert len(plugin.search(cycle, diagnosis).found) == 2


def test_one_of_several_ties_is_taken_at_random() -> None:
    cache = cluster(node("n0"))
    tie = {f"n{number}": Victims((pod("low"),)) for number in range(3)}
    taken = set()
    for seed in range(20):
        cycle = Cycle(cache, cache.info(pod("incoming")), random=random.Random(seed))
        answer = nominate(cycle, tie)
        assert isinstance(answer, Nominated)
        taken.add(answer.node)

    assert taken == set(tie)


def test_candidates_may_all_be_taken_away_before_the_choice() -> None:
    cache = cluster(node("n0"))
    cycle = Cycle(cache, cache.info(pod("incoming")), random=random.Random(0))

    assert nominate(cycle, {}) == unschedulable("preemption: no candidate node for preemption")


def test_the_preemptor_is_kept_out_of_the_queue_while_its_victims_go() -> None:
    plugin, incoming, shared = DefaultPreemption(), pod("incoming"), dict[str, Any]()
    give_handles({"DefaultPreemption": plugin}, Cache(), shared)
    assert plugin.pre_enqueue(incoming) is None
    underway = shared[UNDERWAY] = Underway()
    underway.begin(incoming.uid)
    held = plugin.pre_enqueue(incoming)
    assert held is not None
    assert held.message == "waiting for the preemption for this pod to be finished"
    underway.end(incoming.uid)
    assert plugin.pre_enqueue(incoming) is None


def test_two_plugins_hold_their_own_preemptors() -> None:
    one, other, underway = DefaultPreemption(), DefaultPreemption(), Underway()
    give_handles({"DefaultPreemption": one}, Cache(), {UNDERWAY: underway})
    give_handles({"DefaultPreemption": other}, Cache(), {UNDERWAY: Underway()})
    underway.begin("incoming")

    assert one == other, "what is underway is no argument"
    assert one.pre_enqueue(pod("incoming")) is not None
    assert other.pre_enqueue(pod("incoming")) is None


def test_the_deletion_of_a_victim_is_for_other_plugins_to_judge() -> None:
    (registered,) = DefaultPreemption().events()

    assert registered.event == ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
    assert registered.hint is not None
    assert registered.hint(pod("incoming"), pod("victim"), None) is Hint.SKIP
