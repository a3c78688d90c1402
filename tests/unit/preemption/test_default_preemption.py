"""DefaultPreemption: who has to go, who may stay, and what is said of it."""

from typing import Any

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cycle.profile import Profile
from moorage.framework.events import Action, ClusterEvent, Hint, Resource
from moorage.framework.eviction import BEING_EVICTED
from moorage.framework.plugin import give_handles
from moorage.preemption.plugin import RUNNING, DefaultPreemption
from moorage.preemption.running_preemptions import RunningPreemptions
from tests.unit.preemption.preemption_cases import (
    Brittle,
    Capricious,
    budget,
    cluster,
    node,
    pod,
    profile_with,
    said,
    tried,
    victims_of,
)


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
NO_HELP = "0/1 nodes are available: 1 No preemption victims found for incoming pod."
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
            pod("equal", "n0", 9, "2", deleted=True, condition=PREEMPTED),
            NO_HELP,
            id="a pod of the same priority leaves, whose room is another's",
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


def test_victims_that_leave_for_others_are_waited_for_before_anybody_was_told(
    default: Profile,
) -> None:
    """The node is promised and the eviction has begun, and the API server has heard of neither."""
    cache = cluster(node("n0"), pod("low", "n0", 0, "2"), node("n1"), pod("other", "n1", 0, "2"))
    incoming = pod("incoming", priority=9)
    cache.nominations.put(cache.info(incoming), "n0")
    default.shared[BEING_EVICTED] = {"low"}

    assert said(tried(default, cache, incoming)) == WAITS

    default.shared[BEING_EVICTED] = {"other"}

    assert said(tried(default, cache, incoming)).startswith("found a potential placement")


@pytest.mark.parametrize("leaving", ["low-3", "low-8"])
def test_of_equal_nodes_one_is_chosen_whose_pods_leave_anyway(
    default: Profile, leaving: str
) -> None:
    names = [str(number) for number in range(10)]
    things = [(node(f"n{name}"), pod(f"low-{name}", f"n{name}", 0, "2")) for name in names]
    cache = cluster(*(thing for pair in things for thing in pair))
    default.shared[BEING_EVICTED] = {leaving}

    assert victims_of(tried(default, cache, pod("incoming", priority=9))) == [leaving]


def test_a_node_that_costs_less_is_chosen_though_pods_of_another_leave_anyway(
    default: Profile,
) -> None:
    cache = cluster(node("n0"), pod("mid", "n0", 5, "2"), node("n1"), pod("low", "n1", 0, "2"))
    default.shared[BEING_EVICTED] = {"mid"}

    assert victims_of(tried(default, cache, pod("incoming", priority=9))) == ["low"]


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


def test_the_preemptor_is_kept_out_of_the_queue_while_its_victims_go() -> None:
    plugin, incoming, shared = DefaultPreemption(), pod("incoming"), dict[str, Any]()
    _kept = give_handles({"DefaultPreemption": plugin}, Cache(), shared)
    assert plugin.pre_enqueue(incoming) is None
    running = shared[RUNNING] = RunningPreemptions()
    running.begin(incoming.uid)
    held = plugin.pre_enqueue(incoming)
    assert held is not None
    assert held.message == "waiting for the preemption for this pod to be finished"
    running.end(incoming.uid)
    assert plugin.pre_enqueue(incoming) is None


def test_two_plugins_hold_their_own_preemptors() -> None:
    one, other, running = DefaultPreemption(), DefaultPreemption(), RunningPreemptions()
    _kept = [
        give_handles({"DefaultPreemption": one}, Cache(), {RUNNING: running}),
        give_handles({"DefaultPreemption": other}, Cache(), {RUNNING: RunningPreemptions()}),
    ]
    running.begin("incoming")

    assert one == other, "what is running is no argument"
    assert one.pre_enqueue(pod("incoming")) is not None
    assert other.pre_enqueue(pod("incoming")) is None


def test_the_deletion_of_a_victim_is_for_other_plugins_to_judge() -> None:
    (registered,) = DefaultPreemption().events()

    assert registered.event == ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
    assert registered.hint is not None
    assert registered.hint(pod("incoming"), pod("victim"), None) is Hint.SKIP


def test_a_deletion_is_news_to_pods_that_are_held_if_it_is_of_a_last_victim() -> None:
    plugin, running = DefaultPreemption(), RunningPreemptions()
    _kept = give_handles({"DefaultPreemption": plugin}, Cache(), {RUNNING: running})
    (registered,) = plugin.events()
    assert registered.class_hint is not None
    victim, other = pod("victim"), pod("other")
    running.begin("incoming")
    assert registered.class_hint(pod("incoming"), victim, None) is Hint.SKIP
    running.last("incoming", victim.uid, lambda: True)

    assert registered.class_hint(pod("incoming"), victim, None) is Hint.QUEUE
    assert registered.class_hint(pod("incoming"), other, None) is Hint.SKIP
