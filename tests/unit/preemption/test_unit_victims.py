"""Pods of a group that is disrupted as a whole leave, come back and count together."""

from typing import Any

from hypothesis import given

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.eviction import UNITS, Unit, UnitOf
from moorage.framework.verdicts import unschedulable
from moorage.preemption import candidates
from moorage.preemption.candidates import Search
from tests.unit.preemption.test_preemption_columnwise import (
    FILTERS,
    Asking,
    OneByOne,
    clusters,
    incoming_pods,
    node,
    pod,
    told,
)


def whole_apps(cycle: Cycle, info: PodInfo) -> Unit | int:
    """Pods of app-1 leave together, wherever they are."""
    if info.pod.labels["app"] != "app-1":
        return 0
    found: Unit | None = cycle.state.get("whole")
    if found is None:
        pods = tuple(each for _, each in cycle.cache.pods() if each.pod.labels["app"] == "app-1")
        found = cycle.state["whole"] = Unit(pods, max(each.priority for each in pods), 1)
    return found


def whole_ranks(cycle: Cycle, info: PodInfo) -> Unit | int:
    """Pods of app-1 that have the same priority leave together, as pods of a group have."""
    if info.pod.labels["app"] != "app-1":
        return 0
    seen: dict[int, Unit] = cycle.state.setdefault("whole", {})
    found = seen.get(info.priority)
    if found is None:
        equal = (each for _, each in cycle.cache.pods() if each.priority == info.priority)
        pods = tuple(each for each in equal if each.pod.labels["app"] == "app-1")
        found = seen[info.priority] = Unit(pods, info.priority, 1)
    return found


def search_with_units(
    cache: Cache, incoming: Pod, vector: bool, unit_of: UnitOf
) -> tuple[Search, int]:
    """What is found, and how often rules were asked about a single row."""
    shared: dict[str, Any] = {UNITS: unit_of}
    cycle = Cycle(cache, cache.info(incoming), shared=shared)
    asking = Asking(cycle, FILTERS)
    cycle.refuses = asking if vector else OneByOne(asking)
    diagnosis = Diagnosis(cache.table)
    diagnosis.pre_filter = unschedulable("not today")
    return candidates.find_all(cycle, diagnosis), asking.asked


@given(clusters(), incoming_pods)
def test_units_come_out_of_many_rows_at_once_as_of_a_trial_of_each(
    cache: Cache, incoming: Pod
) -> None:
    at_once, asked = search_with_units(cache, incoming, True, whole_ranks)
    one_by_one, _ = search_with_units(cache, incoming, False, whole_ranks)

    assert told(one_by_one) == told(at_once)
    assert asked == 0
    validate_cache(cache)


@given(clusters(), incoming_pods)
def test_a_unit_leaves_as_a_whole_or_not_at_all(cache: Cache, incoming: Pod) -> None:
    """Also where some of its pods are too important: then none of them leaves."""
    at_once, _ = search_with_units(cache, incoming, True, whole_apps)
    one_by_one, _ = search_with_units(cache, incoming, False, whole_apps)

    assert told(one_by_one)[:2] == told(at_once)[:2]
    pods = [info for _, info in cache.pods() if info.pod.labels["app"] == "app-1"]
    whole = {info.uid for info in pods}
    spared = any(info.priority >= incoming.priority for info in pods)
    for victims in at_once.found.values():
        gone = {victim.uid for victim in victims.pods}
        assert not gone & whole or (gone >= whole and not spared)


def test_the_unit_with_fewer_pods_elsewhere_is_less_of_a_loss() -> None:
    cache = Cache()
    for name in ("n0", "n1", "n2"):
        cache.put_node(node(name, cpu="1"))
    for name, where in (("even", "n0"), ("odd-0", "n1"), ("odd-1", "n2")):
        cache.put_pod(pod(name, where))  # the length of a name tells its app
    found, _ = search_with_units(cache, pod("high", "", 5), True, whole_apps)

    assert {name: len(victims.pods) for name, victims in found.found.items()} == {
        "n0": 1,
        "n1": 2,
        "n2": 2,
    }
    assert candidates.least_harmful(found.found) == ["n0"]


def test_units_keep_their_places_after_a_trial() -> None:
    """Who came first decides between equals: a trial must not exchange them."""
    cache = Cache()
    cache.put_node(node("n0", cpu="3"))
    names = ["odd-0", "even", "odd-1"]
    for name in names:
        cache.put_pod(pod(name, "n0", started=None))
    search_with_units(cache, pod("high", "", 5), False, whole_apps)

    assert [info.uid for info in cache.table.pods[0].values()] == names
