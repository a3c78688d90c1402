"""Features are listed, asked by hook, and can be left out one by one."""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.assembly import (
    all_features,
    canaries_for,
    gangs_for,
    preemption_for,
    quotas_for,
    rejections_for,
    stand_ins_for,
)
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import default_configuration
from moorage.framework.queued_pod import QueuedPod
from moorage.gang.feature import Gangs
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.preemption.feature import Preemption
from moorage.rollout.rollback import Canaries
from moorage.rollout.standin import StandIns
from moorage.scheduler.feature import Feature, Features
from moorage.scheduler.kubelet_rejections import KubeletRejections
from moorage.scheduler.ports import NoEvictions, Ports
from moorage.scheduler.queue_order import QueueOrder
from moorage.scheduler.scheduler import Scheduler, no_features
from moorage.tenancy.feature import ElasticQuotas
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.reflector import Change
from tests.unit.gang.gang_world import group, members

Raw = dict[str, Any]
Make = Callable[[Ports], Iterable[Feature]]


def nodes_of(
    make: Make, *objects: NodeBuilder | PodBuilder | Raw, later: Iterable[PodBuilder] = ()
) -> dict[str, str]:
    """Where pods are after a while, under a scheduler with these features."""
    clock = VirtualClock(1000.0)
    cluster = MemoryCluster(clock=clock, rng=random.Random(0))
    known = built_in_plugins.built_in()
    profiles = build_profiles(
        default_configuration(built_in_plugins.describe_plugins(known)), known
    )

    def apply(obj: NodeBuilder | PodBuilder | Raw) -> None:
        kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
        cluster.apply(
            obj if isinstance(obj, dict) else {"apiVersion": "v1", "kind": kind, **obj.raw}
        )

    async def main() -> None:
        rng = random.Random(0)
        scheduler = Scheduler(cluster, profiles, clock=clock, rng=rng, features=make)
        tasks = [
            asyncio.ensure_future(scheduler.run()),
            asyncio.ensure_future(Kubelet(cluster).serve()),
        ]
        await clock.sleep(5)
        for made in later:
            apply(made)
        await clock.sleep(60)
        assert not tasks[0].done(), tasks[0].result()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    for obj in objects:
        apply(obj)
    run_virtual(main(), clock)
    pods = [found for found in cluster.objects(PODS) if isinstance(found, Pod)]
    return {found.name: found.spec.node_name for found in pods}


MAKERS: dict[type[Feature], Callable[[Ports], Feature]] = {
    Gangs: lambda ports: gangs_for(ports, NoEvictions()),
    Preemption: preemption_for,
    ElasticQuotas: quotas_for,
    KubeletRejections: rejections_for,
    Canaries: canaries_for,
    StandIns: stand_ins_for,
    QueueOrder: lambda ports: QueueOrder(ports.profiles, ports.cache, ports.queue),
}


def without(left_out: type[Feature]) -> Make:
    """All features but one; gangs are made without preemption's help."""
    return lambda ports: [make(ports) for kind, make in MAKERS.items() if kind is not left_out]


ROOMY = node("a").offering(cpu="8")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(no_features, id="no feature at all"),
        *(pytest.param(without(kind), id=f"all but {kind.__name__}") for kind in MAKERS),
    ],
)
def test_whichever_feature_is_left_out_pods_are_scheduled(make: Make) -> None:
    found = nodes_of(make, ROOMY, pod("web").requesting(cpu="1"), later=[pod("late")])

    assert found == {"web": "a", "late": "a"}


def test_without_gangs_naming_a_group_means_nothing() -> None:
    train: tuple[Raw | PodBuilder, ...] = (group("train", 5), *members("train", 2))

    assert set(nodes_of(all_features, ROOMY, *train).values()) == {""}
    assert set(nodes_of(without(Gangs), ROOMY, *train).values()) == {"a"}


def test_without_preemption_nobody_makes_room_for_pods_or_for_groups() -> None:
    low = pod("low").requesting(cpu="8").on("a")
    high = pod("high").requesting(cpu="8").prioritised(10)
    gang = [made.prioritised(10) for made in members("train", 2, cpu="4")]

    assert nodes_of(all_features, ROOMY, low, high)["high"] == "a"
    assert nodes_of(without(Preemption), ROOMY, low, high) == {"low": "a", "high": ""}
    placed = nodes_of(without(Preemption), ROOMY, low, group("train", 2), *gang)
    assert placed == {"low": "a", "train-0": "", "train-1": ""}


class Listener(Feature):
    """Notes what it hears, and has nodes believed to be smaller than they are."""

    hears = ("pods", "nodes")

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self.heard: list[tuple[str, str, bool]] = []

    def before(self, change: Change, resource: Resource) -> None:
        self._note("before", change)

    def after(self, change: Change, resource: Resource) -> None:
        self._note("after", change)

    def _note(self, when: str, change: Change) -> None:
        if isinstance(change.new, Node):
            known = change.new.name in self._cache.table.row_of
            self.heard.append((when, change.new.name, known))


def test_a_feature_hears_of_a_change_before_and_after_the_cache_does() -> None:
    made: list[Listener] = []

    def features(ports: Ports) -> list[Feature]:
        made.append(Listener(ports.cache))
        return [*made]

    nodes_of(features, ROOMY)

    assert made[0].heard[:2] == [("before", "a", False), ("after", "a", True)]


class Adjusting(Feature):
    """Believes of no node that it is there."""

    hears = ("nodes",)

    def adjust(self, change: Change) -> Change:
        return Change("deleted", change.old)


def test_what_a_feature_adjusts_is_believed_by_everyone() -> None:
    assert nodes_of(lambda ports: [Adjusting()], ROOMY, pod("web")) == {"web": ""}


def test_only_features_that_override_a_hook_are_bound_to_it() -> None:
    features, listener = Features(), Listener(None)
    features.join([listener, Adjusting()])

    assert (features.tick, features.claims, features.next_due) == ((), (), ())
    assert features.before("nodes") == (listener.before,)
    assert features.before("podgroups") == ()
    assert len(features.adjust("nodes")) == 1
    assert features.adjust("pods") == ()


class Claims(Feature):
    def __init__(self, name: str, order: list[str]) -> None:
        self._name = name
        self._order = order

    def claims(self, queued: QueuedPod) -> bool:
        self._order.append(self._name)
        return False

    def tick(self, now: float) -> None:
        self._order.append(f"{self._name} ticks")


def test_the_order_of_the_list_is_the_order_of_effects() -> None:
    order: list[str] = []

    nodes_of(lambda ports: [Claims("one", order), Claims("two", order)], ROOMY, pod("web"))

    first = order.index("one")
    assert order[first - 2 : first + 2] == ["one ticks", "two ticks", "one", "two"]


def test_who_asks_for_a_feature_that_was_left_out_is_told() -> None:
    async def main() -> None:
        clock = VirtualClock()
        cluster = MemoryCluster(clock=clock, rng=random.Random(0))
        known = built_in_plugins.built_in()
        configuration = default_configuration(built_in_plugins.describe_plugins(known))
        profiles = build_profiles(configuration, known)
        scheduler = Scheduler(cluster, profiles, clock=clock, rng=random.Random(0))
        with pytest.raises(LookupError, match="this scheduler was made without Gangs"):
            scheduler.feature(Gangs)

    asyncio.run(main())
