"""A pod that is being deleted before it is bound needs no node, and gives back what it had."""

import asyncio
import random

import pytest

from moorage import Cycle, Node, Permit, Pod, PreBind, Rejection, Wait
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import default_configuration
from moorage.framework.plugin import Plugin
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_resources import EVENTS, NODES, PODS
from tests.unit.gang.gang_world import GangWorld, group, member


def test_it_is_skipped_and_an_event_says_so() -> None:
    """A finalizer keeps it, and a node comes that would take it."""
    clock, rng = VirtualClock(1000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = default_configuration(built_in_plugins.describe_plugins(known))
    lingering = pod("p").requesting(cpu="1").raw
    lingering["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.add(PODS, lingering)

    async def main() -> None:
        scheduler = assemble(cluster, build_profiles(loaded, known), clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(1.0)
        await cluster.delete(PODS, "default", "p")
        cluster.add(NODES, node("a").raw)
        await clock.sleep(20.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)

    (left,) = cluster.objects(PODS)
    assert isinstance(left, Pod)
    assert left.spec.node_name == ""
    found = (cluster.read(EVENTS, each.namespace, each.name) for each in cluster.objects(EVENTS))
    assert "skip schedule deleting pod: default/p" in [each["note"] for each in found]


def patient(name: str) -> PodBuilder:
    """A pod of a higher priority than others that makes no room for itself."""
    made = pod(name).requesting(cpu="4").prioritised(100)
    return made.with_spec(preemptionPolicy="Never")


class SlowToPermit(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait | None:
        return Wait(600.0) if pod.name == "held" else None


class SlowToPrepare(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        assert cycle.client is not None
        if pod.name == "held":
            await cycle.client.wait_until(lambda: False, 600.0)
        return None


async def another_comes_and_held_is_deleted(world: GangWorld) -> None:
    await world.clock.sleep(1)
    world.apply(patient("next"))
    await world.clock.sleep(2)
    await world.cluster.delete(PODS, "default", "held")
    await world.clock.sleep(5)


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(SlowToPermit, id="one that waits at Permit"),
        pytest.param(SlowToPrepare, id="one that is being made ready"),
    ],
)
@pytest.mark.parametrize(
    "finalizers",
    [
        pytest.param(["example.com/wait"], id="that is being deleted"),
        pytest.param([], id="that is gone"),
    ],
)
def test_others_take_the_room_of(finalizers: list[str], plugin: type[Plugin]) -> None:
    held = pod("held").requesting(cpu="4")
    held.raw["metadata"]["finalizers"] = finalizers
    world = GangWorld(node("a").offering(cpu="4"), held, plugins=(plugin,))

    world.run(another_comes_and_held_is_deleted)

    assert world.bound() == {"next": "a"}


def test_a_gang_does_without_a_pod_that_is_deleted_before_it_is_bound() -> None:
    """Too few are left: the others give back what they hold."""
    held = member("held", "train", cpu="2")
    held.raw["metadata"]["finalizers"] = ["example.com/wait"]
    pods = (held, member("train-1", "train", cpu="2"))
    offering = node("a").offering(cpu="4")
    world = GangWorld(offering, group("train", 2), *pods, plugins=(SlowToPermit,))

    world.run(another_comes_and_held_is_deleted)

    assert world.bound() == {"next": "a"}
