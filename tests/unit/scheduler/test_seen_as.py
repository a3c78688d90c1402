"""Pods that a plugin changes for their attempt: hints are about what was refused."""

from moorage.testing import node, pod
from tests.unit.gang.gang_world import GangWorld, Raw

BATCH: Raw = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "SchedulingPolicy",
    "metadata": {"name": "batch"},
    "spec": {"tolerations": [{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}]},
}


def world(policy: str) -> GangWorld:
    """A pod with a policy that tolerates `batch`, and a node with a taint that nobody does."""
    waiting = pod("job").labelled({"moorage.io/scheduling-policy": policy})
    return GangWorld(
        node("a").tainted("alien"),
        waiting,
        args={"SchedulingPolicies": {"policies": [BATCH]}},
        enabled={"multiPoint": {"enabled": [{"name": "SchedulingPolicies"}]}},
    )


def test_a_taint_that_only_the_policy_tolerates_wakes_the_pod() -> None:
    """Long before the flush, which comes after five minutes."""
    made = world("batch")

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(20)
        assert world.bound() == {}
        world.apply(node("a").tainted("batch"))
        await world.clock.sleep(15)

    made.run(story)

    assert made.bound() == {"job": "a"}


def test_an_update_of_the_pod_is_worth_an_attempt_for_it_may_have_another_policy() -> None:
    made = world("batch")

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(20)
        before = len(world.attempts)
        world.apply(pod("job").labelled({"moorage.io/scheduling-policy": "batch", "new": "label"}))
        await world.clock.sleep(15)
        assert len(world.attempts) == before + 1

    made.run(story)


def test_a_pod_that_nobody_changed_sleeps_through_a_taint_it_does_not_tolerate() -> None:
    made = world("")

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(20)
        before = len(world.attempts)
        world.apply(node("a").tainted("batch"))
        await world.clock.sleep(15)
        assert len(world.attempts) == before

    made.run(story)
