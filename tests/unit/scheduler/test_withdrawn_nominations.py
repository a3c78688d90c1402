"""A pod that does not get to the node it was promised is promised none; others may go there."""

from typing import Any

import pytest

from moorage import Bind, Cycle, Filter, Node, Permit, Pod, PreBind, Rejection, Reserve, Wait
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Plugin
from moorage.framework.verdicts import unschedulable
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_errors import Forbidden
from moorage.watch.api_resources import PODS
from tests.unit.gang.gang_world import GangWorld, group, vips

REFUSED = unschedulable("not this one")


def is_meant(pod: Pod) -> bool:
    return pod.name.startswith("vip")


class Patient(Plugin, frozen=True):
    """Lets a pod wait for a node to come."""

    def events(self) -> tuple[EventHint, ...]:
        return (EventHint(ClusterEvent(Resource.NODE, Action.ADD)),)


class Raises(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if is_meant(pod):
            raise ValueError("cannot read this pod")
        return None


class RefusesToReserve(Patient, Reserve, frozen=True):
    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return REFUSED if is_meant(pod) else None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None: ...


class RefusesToPermit(Patient, Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return REFUSED if is_meant(pod) else None


class PermitsTooLate(Patient, Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait | None:
        return Wait(0.1) if is_meant(pod) else None


class RefusesToPrepare(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return REFUSED if is_meant(pod) else None


class FailsToBind(Bind, frozen=True):
    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        if is_meant(pod):
            raise Forbidden("pods is forbidden")
        assert cycle.client is not None
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name)


def promised(made: PodBuilder, node: str) -> PodBuilder:
    """A pod that was promised a node, and may evict nobody from there."""
    made.raw.setdefault("status", {})["nominatedNodeName"] = node
    return made.prioritised(100).with_spec(preemptionPolicy="Never")


def world_of(*objects: Any, plugin: type[Plugin]) -> GangWorld:
    world = GangWorld(*objects, plugins=(plugin,))
    if issubclass(plugin, Bind):
        world.profile.bind = [(plugin.plugin_name(), plugin())]
    return world


async def let_another_come(world: GangWorld) -> None:
    await world.clock.sleep(0.5)
    world.apply(pod("other").requesting(cpu="4"))
    await world.clock.sleep(0.25)


def promises(world: GangWorld) -> set[str]:
    """What pods say they were promised."""
    found = (each for each in world.cluster.objects(PODS) if isinstance(each, Pod))
    return {each.status.nominated_node_name for each in found} - {""}


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(Raises, id="an attempt that ends in an error"),
        pytest.param(RefusesToReserve, id="a pod that is refused at Reserve"),
        pytest.param(RefusesToPermit, id="a pod that is refused at Permit"),
        pytest.param(PermitsTooLate, id="a pod that nobody permits in time"),
        pytest.param(RefusesToPrepare, id="a pod that is refused at PreBind"),
        pytest.param(FailsToBind, id="a pod that cannot be bound"),
    ],
)
def test_the_promise_is_taken_back_after(plugin: type[Plugin]) -> None:
    vip = promised(pod("vip").requesting(cpu="4"), "a")
    world = world_of(node("a").offering(cpu="4"), vip, plugin=plugin)

    world.run(let_another_come)

    assert world.bound() == {"other": "a"}
    assert promises(world) == set()


def test_without_anybody_to_make_room_a_pod_that_fits_nowhere_is_promised_nothing() -> None:
    vip = promised(pod("vip").requesting(cpu="8"), "a")
    world = GangWorld(node("a").offering(cpu="4"), vip)
    world.profile.post_filter = []

    world.run(let_another_come)

    assert world.bound() == {"other": "a"}
    assert promises(world) == set()


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(Raises, id="that ended in an error"),
        pytest.param(PermitsTooLate, id="of which a pod was not permitted in time"),
        pytest.param(FailsToBind, id="of which a pod cannot be bound"),
    ],
)
def test_no_pod_keeps_its_promise_after_an_attempt_at_a_group(plugin: type[Plugin]) -> None:
    pods = [promised(each, "a") for each in vips(2, cpu="2")]
    world = world_of(node("a").offering(cpu="4"), group("vip", 2), *pods, plugin=plugin)

    world.run(let_another_come)

    assert world.bound() == {"other": "a"}
    assert promises(world) == set()
