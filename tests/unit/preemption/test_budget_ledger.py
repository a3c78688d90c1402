"""The ledger of disruption budgets: what is spent before the API server says so."""

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.decode import decode_as
from moorage.api.meta import KubeObject
from moorage.cache.cache import Cache
from moorage.clock import VirtualClock
from moorage.memory.memory_cluster import MemoryCluster
from moorage.preemption.budget_ledger import BudgetLedger
from moorage.preemption.feature import Preemption
from moorage.scheduler.intake import KnownObjects
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS
from moorage.watch.api_server import Resource
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


class Reported(KnownObjects):
    """One budget, as the API server last reported it."""

    def __init__(self, budget: PodDisruptionBudget) -> None:
        self.budget = budget

    def get(self, resource: Resource, key: str) -> KubeObject:
        return self.budget


class Books:
    """A ledger of one budget, which allows three disruptions and has seen `web-gone` leave."""

    def __init__(self) -> None:
        raw = budget("web", 3, "web")
        raw["status"]["disruptedPods"] = {"web-gone": "2023-11-14T22:13:20Z"}
        self.clock = VirtualClock(1000.0)
        self.cache = Cache()
        self.cache.objects.put(decode_as(raw, PodDisruptionBudget))
        self.ledger = BudgetLedger(self.cache, self.clock, Reported(self.allowing))

    @property
    def allowing(self) -> PodDisruptionBudget:
        """The budget as it is believed to be."""
        (found,) = self.cache.objects.all(PodDisruptionBudget)
        return found

    def spend(self, name: str) -> None:
        self.ledger.spend([low(name, "a").labelled(app="web").build()])

    def at(self, seconds: float) -> None:
        self.clock.advance(1000.0 + seconds - self.clock.now())
        self.ledger.tick(self.clock.now())


def test_each_victim_is_struck_off_after_a_minute_of_its_own() -> None:
    """However often the same budget is spent meanwhile."""
    books = Books()
    left = {}
    for second in range(0, 120, 10):
        books.at(second)
        left[second] = len(books.ledger)
        if second in (0, 30, 50):
            books.spend(f"web-{second}")

    assert [left[second] for second in (50, 60, 80, 90, 100, 110)] == [2, 2, 2, 1, 1, 0]
    assert books.allowing.status.disruptions_allowed == 3
    assert books.ledger.next_due() is None


def test_a_pod_that_a_budget_lists_as_disrupted_spends_it_no_second_time() -> None:
    books = Books()

    books.spend("web-a")
    books.spend("web-gone")
    books.at(40)
    books.spend("web-a")

    assert len(books.ledger) == 1
    assert books.allowing.status.disruptions_allowed == 2
    assert books.ledger.next_due() == 1060.0
    books.at(60)
    assert len(books.ledger) == 0
