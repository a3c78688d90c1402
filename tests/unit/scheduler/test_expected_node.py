"""While a pod waits to be bound its status names the node; as NominatedNodeNameForExpectation."""

import asyncio
import random
from collections.abc import Callable

import pytest

from moorage import Cycle, Node, Permit, Pod, PreBind, Rejection, Wait, unschedulable
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.framework.verdicts import SKIP, Skip
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node, pod, schedule
from moorage.watch.api_resources import NODES, PODS


class Held(Permit, frozen=True):
    """Holds pods labelled `held`; nobody ever lets them go."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        return Wait(10.0) if "held" in pod.labels else None


class Slow(PreBind, frozen=True):
    """Takes five seconds over pods labelled `slow`, and fails those labelled `broken`."""

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        return None if {"slow", "broken"} & pod.labels.keys() else SKIP

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        assert cycle.client is not None
        await cycle.client.wait_until(lambda: False, 5.0)
        return unschedulable("broken") if "broken" in pod.labels else None


CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"plugins": {"multiPoint": {"enabled": [{"name": "Held"}, {"name": "Slow"}]}}},
    ],
}


def story(label: str, look: Callable[[MemoryCluster, float], None]) -> None:
    """One pod with a label on a node of two cores; `look` is called four times a second.

    After two seconds another pod arrives, for which there is just room.
    """
    clock, rng = VirtualClock(1000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    known.add(Held)
    known.add(Slow)
    loaded = load(CONFIGURATION, known=built_in_plugins.describe_plugins(known)).configuration
    cluster.add(NODES, node("a").offering(cpu="2").raw)

    async def main() -> None:
        profiles = build_profiles(loaded, known)
        scheduler = assemble(cluster, profiles, clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        cluster.add(PODS, pod("p").requesting(cpu="1").labelled({label: "yes"}).raw)
        for tick in range(1, 30):
            await clock.sleep(0.25)
            look(cluster, tick / 4)
            if tick == 8:
                cluster.add(PODS, pod("other").requesting(cpu="1").raw)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)


def found(cluster: MemoryCluster, name: str = "p") -> Pod:
    (only,) = (each for each in cluster.objects(PODS) if each.name == name)
    assert isinstance(only, Pod)
    return only


@pytest.mark.parametrize("label", ["held", "slow"])
def test_a_pod_that_waits_names_its_node_and_is_counted_once(label: str) -> None:
    def look(cluster: MemoryCluster, at: float) -> None:
        if at == 2.0:
            waiting = found(cluster)
            assert (waiting.spec.node_name, waiting.status.nominated_node_name) == ("", "a")
        if at == 4.0:
            assert found(cluster, "other").spec.node_name == "a"

    story(label, look)


def test_a_pod_that_is_bound_at_once_says_nothing() -> None:
    def look(cluster: MemoryCluster, at: float) -> None:
        bound = found(cluster)
        if at < 1.0:
            return
        assert (bound.spec.node_name, bound.status.nominated_node_name) == ("a", "")

    story("plain", look)


def test_what_comes_to_nothing_is_taken_back() -> None:
    """The plugin fails after five seconds."""
    seen: list[str] = []

    def look(cluster: MemoryCluster, at: float) -> None:
        seen.append(found(cluster).status.nominated_node_name)

    story("broken", look)

    first = seen.index("a")
    assert "" in seen[first:]


class Asks(PreBind, frozen=True):
    """Keeps count of how often it is asked whether there is anything to do."""

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        cycle.shared["asked"] = cycle.shared.get("asked", 0) + 1
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None


def test_a_plugin_is_asked_once_for_a_placement_whether_it_has_work() -> None:
    ended = schedule(node("a"), pod("web"), plugins=[Asks()])

    assert (ended.nodes, ended.shared["asked"]) == ({"web": "a"}, 1)
