"""How far the search for candidates goes, and which of them is chosen."""

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdicts import Nominated, unschedulable
from moorage.preemption import candidates
from moorage.preemption.plugin import DefaultPreemption, evaluate, nominate
from moorage.preemption.victims import Victims
from tests.unit.preemption.preemption_cases import (
    budget,
    cluster,
    node,
    pod,
    profile_with,
)


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
    cycle = Cycle(cache, cache.info(incoming), seed=seed, shared=chosen.shared)
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


def test_each_of_several_ties_is_taken_by_some_seed() -> None:
    cache = cluster(node("n0"))
    tie = {f"n{number}": Victims((pod("low"),)) for number in range(3)}
    taken = set()
    for seed in range(20):
        cycle = Cycle(cache, cache.info(pod("incoming")), seed=seed)
        answer = nominate(cycle, tie)
        assert isinstance(answer, Nominated)
        taken.add(answer.node)

    assert taken == set(tie)


def test_candidates_may_all_be_taken_away_before_the_choice() -> None:
    cache = cluster(node("n0"))
    cycle = Cycle(cache, cache.info(pod("incoming")))

    assert nominate(cycle, {}) == unschedulable("preemption: no candidate node for preemption")
