"""The ledger of disruption budgets: what is spent before the API server says so."""

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.memory.memory_cluster import MemoryCluster
from moorage.preemption.feature import Preemption
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS
from tests.unit.gang.gang_world import GangWorld, settle
from tests.unit.preemption.preemption_world import (
    Forbidding,
    Slow,
    budget,
    high,
    low,
    names,
    one_core,
)


class TestLedger:
    def world(self, cluster: type[MemoryCluster] = MemoryCluster) -> GangWorld:
        """Two pods of a service of which one may be missing, and a more important one of none."""
        protected = [low(f"web-{n}", n).labelled(app="web") for n in ("a", "b")]
        return GangWorld(
            *one_core("a", "b", "c"),
            *protected,
            low("lone", "c", priority=50),
            budget("web", 1, "web"),
            cluster=cluster,
        )

    def test_a_budget_is_spent_at_once(self) -> None:
        """Nobody writes the budget's status anew; kube-scheduler would evict both."""
        world = self.world()

        async def story(world: GangWorld) -> None:
            world.apply(high("first"), high("second"))
            await settle(world)

        world.run(story)

        assert len([name for name in names(world) if name.startswith("web")]) == 1
        assert "lone" not in names(world)

    def test_what_the_controller_writes_afterwards_is_believed(self) -> None:
        world = self.world()

        async def story(world: GangWorld) -> None:
            world.apply(high("first"))
            await settle(world)
            assert len(world.scheduler.feature(Preemption).ledger) == 1
            raw = await world.cluster.get(POD_DISRUPTION_BUDGETS, "default", "web")
            raw["status"]["disruptionsAllowed"] = 1
            raw["status"]["currentHealthy"] = 5
            await world.cluster.update(POD_DISRUPTION_BUDGETS, raw, subresource="status")
            await settle(world)
            assert len(world.scheduler.feature(Preemption).ledger) == 0
            world.apply(high("second"))
            await settle(world)

        world.run(story)

        assert "lone" in names(world)
        assert not [name for name in names(world) if name.startswith("web")]

    def test_what_the_controller_writes_before_a_victim_leaves_is_not(self) -> None:
        world = self.world(Slow)

        async def story(world: GangWorld) -> None:
            world.apply(high("first"))
            await world.clock.sleep(1)
            raw = await world.cluster.get(POD_DISRUPTION_BUDGETS, "default", "web")
            raw["status"]["currentHealthy"] = 3
            await world.cluster.update(POD_DISRUPTION_BUDGETS, raw, subresource="status")
            await world.clock.sleep(0.1)
            world.apply(high("second"))
            await settle(world)

        world.run(story)

        assert "lone" not in names(world)

    def test_what_could_not_be_evicted_is_given_back(self) -> None:
        """The more important pod has no budget, so it is evicted only if the other may not be."""
        world = GangWorld(
            *one_core("a", "b"),
            low("kept", "a").labelled(app="web"),
            budget("web", 1, "web"),
            high("vip").with_spec(nodeSelector={"kubernetes.io/hostname": "a"}),
            cluster=Forbidding,
        )

        async def story(world: GangWorld) -> None:
            await world.clock.sleep(0.5)
            assert world.scheduler.feature(Preemption).counts().disruptions_spent == 0
            (believed,) = world.scheduler.cache.objects.all(PodDisruptionBudget)
            assert believed.status.disruptions_allowed == 1
            assert not believed.status.disrupted_pods

        world.run(story)

        assert world.failures

    def test_what_no_controller_ever_wrote_is_struck_off_after_a_minute(self) -> None:
        world = self.world()

        async def story(world: GangWorld) -> None:
            world.apply(high("first"))
            await world.clock.sleep(59)
            assert world.scheduler.feature(Preemption).counts().disruptions_spent == 1
            await world.clock.sleep(2)
            room = world.scheduler.feature(Preemption).counts()
            assert (room.disruptions_spent, room.disruptions_expired) == (0, 1)
            (believed,) = world.scheduler.cache.objects.all(PodDisruptionBudget)
            assert believed.status.disruptions_allowed == 1

        world.run(story)
