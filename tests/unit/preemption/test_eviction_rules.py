"""Eviction through the Eviction API, and pods that must have run for a while first."""

import pytest

from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS
from tests.unit.gang.gang_world import GangWorld
from tests.unit.preemption.preemption_world import budget, high, low, names, one_core, started


class TestEvictionApi:
    ARGS = {"DefaultPreemption": {"evictionAPI": True}}  # noqa: RUF012 never changed

    def test_a_budget_has_the_last_word(self) -> None:
        world = GangWorld(
            *one_core("a"),
            low("web", "a").labelled(app="web"),
            budget("web", 0, "web"),
            high("vip"),
            args=self.ARGS,
        )
        world.kubelet.run("default", "web")

        world.run()

        assert "web" in names(world)
        assert world.bound() == {"web": "a"}

    def test_what_it_allows_is_evicted(self) -> None:
        world = GangWorld(
            *one_core("a"),
            low("web", "a").labelled(app="web"),
            budget("web", 1, "web"),
            high("vip"),
            args=self.ARGS,
        )
        world.kubelet.run("default", "web")

        world.run()

        assert world.bound() == {"vip": "a"}
        status = world.cluster.read(POD_DISRUPTION_BUDGETS, "default", "web")["status"]
        assert status["disruptionsAllowed"] == 0


class TestMinimumRuntime:
    def test_the_young_are_spared_and_the_old_are_not(self) -> None:
        world = GangWorld(
            *one_core("a", "b"),
            started(low("old", "a", priority=5), "1970-01-01T00:00:00Z"),
            started(low("young", "b"), "1970-01-01T00:16:00Z"),
            high("vip"),
            args={"DefaultPreemption": {"minimumRuntimeSeconds": 600}},
        )

        world.run()

        assert names(world) == {"young", "vip"}

    def test_nobody_is_preempted_before_its_time_nor_long_after(self) -> None:
        world = GangWorld(
            *one_core("a"),
            started(low("young", "a"), "1970-01-01T00:16:40Z"),
            high("vip"),
            args={"DefaultPreemption": {"minimumRuntimeSeconds": 100}},
        )

        async def story(world: GangWorld) -> None:
            await world.clock.sleep(99)
            assert names(world) == {"young", "vip"}
            assert len(world.attempts) == 1
            await world.clock.sleep(2)

        world.run(story)

        assert names(world) == {"vip"}

    @pytest.mark.parametrize(
        ("annotation", "spared"),
        [
            pytest.param("100000", True, id="a priority class asks for longer"),
            pytest.param("0", False, id="a priority class asks for nothing"),
            pytest.param("soon", False, id="what is not a number is not heard"),
        ],
    )
    def test_a_priority_class_may_say_how_long(self, annotation: str, spared: bool) -> None:
        batch = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {
                "name": "batch",
                "annotations": {"moorage.io/minimum-runtime-seconds": annotation},
            },
            "value": 0,
        }
        world = GangWorld(
            *one_core("a"),
            batch,
            started(low("job", "a", priorityClassName="batch", priority=0), "1970-01-01T00:10:00Z"),
            high("vip"),
        )

        world.run()

        assert ("job" in names(world)) is spared
