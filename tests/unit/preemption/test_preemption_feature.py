"""Preemption carried out on the embedded cluster, and what kube-scheduler does not have of it."""

from typing import Any

import pytest

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.points import Permit, PreBind
from moorage.framework.verdicts import Wait
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Result
from moorage.preemption.feature import Preemption
from moorage.preemption.loop_guard import LoopGuard
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_errors import Forbidden
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS, PODS
from moorage.watch.api_server import Resource
from tests.unit.gang.gang_world import GangWorld, settle

Raw = dict[str, Any]


def low(name: str, on: str, cpu: str = "1", grace: int = 0, **spec: Any) -> PodBuilder:
    """A running pod of no priority."""
    made = pod(name).requesting(cpu=cpu).on(on)
    return made.with_spec(terminationGracePeriodSeconds=grace, **spec)


def high(name: str, cpu: str = "1", priority: int = 100) -> PodBuilder:
    return pod(name).requesting(cpu=cpu).prioritised(priority)


def started(made: PodBuilder, at: str) -> PodBuilder:
    made.raw["status"]["startTime"] = at
    return made


def one_core(*names: str) -> list[Any]:
    return [node(name).offering(cpu="1") for name in names]


def names(world: GangWorld) -> set[str]:
    return {found.name for found in world.cluster.objects(PODS)}


class Slow(MemoryCluster):
    """An API server that takes two seconds to delete."""

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        await self.clock.sleep(2.0)
        await super().delete(resource, namespace, name, **options)


class Fleeting(MemoryCluster):
    """A cluster where pods named `fleeting` end just before somebody can touch them."""

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str = "") -> None:
        if name == "fleeting":
            await super().delete(PODS, namespace, name, grace_period_seconds=0)
        await super().patch_pod_status(namespace, name, patch, uid)


class Forbidding(MemoryCluster):
    """An API server that lets nobody delete pods named `kept`."""

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        if resource is PODS and name == "kept":
            raise Forbidden('pods "kept" is forbidden')
        await super().delete(resource, namespace, name, **options)


def test_a_victim_is_marked_told_and_deleted_and_the_preemptor_takes_its_place() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a", grace=30), high("vip"), stopping=10)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        raw = world.cluster.read(PODS, "default", "victim")
        marked = next(c for c in raw["status"]["conditions"] if c["type"] == "DisruptionTarget")
        assert (marked["status"], marked["reason"]) == ("True", "PreemptionByScheduler")
        assert "deletionTimestamp" in raw["metadata"]
        assert world.bound() == {"victim": "a"}
        await settle(world)

    world.run(story)

    assert world.events("victim", "Preempted") == ["Preempted by pod default/vip on node a"]
    assert world.bound() == {"vip": "a"}


def test_the_preemptor_is_promised_its_node_on_the_api_server() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a"), high("vip"), cluster=Slow)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        status = world.cluster.read(PODS, "default", "vip")["status"]
        assert status["nominatedNodeName"] == "a"
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}


def test_while_victims_are_evicted_the_preemptor_is_not_attempted() -> None:
    """Something happens every tenth of a second that is worth an attempt otherwise."""
    victims = [low(f"v{i}", "a") for i in range(3)]
    world = GangWorld(
        node("a").offering(cpu="3"),
        node("b").offering(cpu="1"),
        *victims,
        low("other", "b"),
        high("vip", cpu="3"),
        cluster=Slow,
    )

    async def story(world: GangWorld) -> None:
        for index in range(30):
            await world.clock.sleep(0.1)
            world.apply(node("b").offering(cpu="1", memory=f"{index + 20}Gi"))
        assert [a.pod for a in world.attempts] == ["default/vip"]
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a", "other": "b"}


def test_a_victim_that_cannot_be_evicted_spares_the_last_and_the_preemptor_tries_again() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("kept", "a", priority=1),
        low("last", "a", priority=0),
        high("vip", cpu="2"),
        cluster=Forbidding,
        backoff=(5.0, 5.0),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(2)
        assert names(world) == {"kept", "last", "vip"}

    world.run(story)

    assert len(world.results(Result.UNSCHEDULABLE)) > 1
    assert any("forbidden" in failure for failure in world.failures)
    room = world.scheduler.feature(Preemption).counts()
    assert room.evictions["deletion", "failed"] == len(world.failures)
    assert room.leaving == 0


def test_a_victim_that_is_gone_by_then_is_no_failure_and_nothing_is_said_of_it() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("fleeting", "a"),
        low("other", "a"),
        high("vip", cpu="2"),
        cluster=Fleeting,
    )

    world.run()

    assert world.bound() == {"vip": "a"}
    assert world.events("fleeting", "Preempted") == []
    assert len(world.events("other", "Preempted")) == 1
    room = world.scheduler.feature(Preemption).counts()
    assert room.evictions == {("deletion", "gone"): 1, ("deletion", "evicted"): 1}


def test_a_pod_that_is_outbid_loses_its_promise_on_the_api_server_too() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a"), high("first", priority=5), cluster=Slow)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        assert world.cluster.read(PODS, "default", "first")["status"]["nominatedNodeName"] == "a"
        world.apply(high("second", priority=9))
        await world.clock.sleep(0.5)
        status = world.cluster.read(PODS, "default", "first")["status"]
        assert not status.get("nominatedNodeName")
        assert world.scheduler.cache.nominations.node_of("default/first") is None
        await settle(world)

    world.run(story)

    assert world.bound() == {"second": "a"}


def test_a_victim_that_is_leaving_already_is_not_deleted_again() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a", grace=20), stopping=20)

    async def story(world: GangWorld) -> None:
        await world.cluster.delete(PODS, "default", "victim")
        world.apply(high("vip"))
        await settle(world)

    world.run(story)

    assert world.events("victim", "Preempted") == []
    assert world.bound() == {"vip": "a"}


def test_a_nomination_that_does_not_come_true_is_given_up() -> None:
    """The victim takes an hour to leave; meanwhile another node comes free."""
    world = GangWorld(
        *one_core("a"),
        low("victim", "a", grace=3600),
        high("vip"),
        args={"DefaultPreemption": {"nominationSeconds": 60}},
        stopping=3600,
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(59)
        assert world.scheduler.cache.nominations.node_of("default/vip") == "a"
        await world.clock.sleep(2)
        assert len(world.events("vip", "NominationGivenUp")) == 1
        assert world.scheduler.feature(Preemption).counts().nominations_given_up == 1

    world.run(story)


def budget(name: str, allowed: int, app: str) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 2,
            "desiredHealthy": 1,
            "expectedPods": 2,
            "observedGeneration": 1,
        },
    }


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


def owned(made: PodBuilder, by: str) -> PodBuilder:
    made.raw["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "uid": by, "controller": True}
    ]
    return made


class TestLoopGuard:
    @pytest.mark.parametrize(("limit", "most"), [(3, 6), (5, 8)])
    def test_a_circle_is_cut_and_told(self, limit: int, most: int) -> None:
        world = GangWorld(
            *one_core("a"),
            owned(low("rival-0", "a"), "rival"),
            owned(high("vip"), "vips"),
            args={"DefaultPreemption": {"loopGuard": limit}},
            backoff=(0.1, 0.1),
            cluster=Rivals,
        )
        world.run(lambda world: settle(world, 60))

        evicted = len(world.cluster.evicted)  # type: ignore[attr-defined]
        assert limit <= evicted <= most
        (note,) = world.events("vip", "PreemptionLoop")
        assert note.startswith(
            f"pods of ReplicaSet default/vips have evicted pods of ReplicaSet default/rival {limit}"
        )
        guard = world.scheduler.feature(Preemption).guard
        assert guard.stopped == {("ReplicaSet default/vips", "ReplicaSet default/rival"): 1}
        room = world.scheduler.feature(Preemption).counts()
        assert (room.loops_cut, room.pairs_stopped) == (1, 1)

    def test_without_it_the_circle_goes_on(self) -> None:
        world = GangWorld(
            *one_core("a"),
            owned(low("rival-0", "a"), "rival"),
            owned(high("vip"), "vips"),
            args={"DefaultPreemption": {"loopGuard": 0}},
            backoff=(0.1, 0.1),
            cluster=Rivals,
        )
        world.run(lambda world: settle(world, 60))

        assert len(world.cluster.evicted) > 15  # type: ignore[attr-defined]

    def test_evicting_many_pods_of_one_owner_once_is_no_circle(self) -> None:
        victims = [owned(low(f"low-{n}", n), "low") for n in "abcdefghijkl"]
        vips = [owned(high(f"vip-{n}"), "vips") for n in "abcdefghijkl"]
        world = GangWorld(
            *one_core(*"abcdefghijkl"),
            *victims,
            *vips,
            args={"DefaultPreemption": {"loopGuard": 2}},
        )

        world.run()

        assert len(world.bound("vip")) == 12

    def test_a_preemptor_that_was_stopped_is_tried_again_when_the_window_is_over(self) -> None:
        world = GangWorld(
            *one_core("a"),
            owned(low("rival-0", "a"), "rival"),
            owned(high("vip"), "vips"),
            args={"DefaultPreemption": {"loopGuard": 3}},
            backoff=(0.1, 0.1),
            cluster=Rivals,
        )

        async def story(world: GangWorld) -> None:
            await settle(world, 60)
            evicted = len(world.cluster.evicted)  # type: ignore[attr-defined]
            await settle(world, 500)
            assert len(world.cluster.evicted) == evicted  # type: ignore[attr-defined]
            await settle(world, 60)
            assert len(world.cluster.evicted) > evicted  # type: ignore[attr-defined]

        world.run(story)

    def test_after_a_while_a_pair_may_try_again(self) -> None:
        guard, vip = LoopGuard(window=10.0), owned(pod("vip"), "vips").build()
        circle(guard, vip, turns=2, limit=2)

        victim = owned(pod("low-9"), "low").build()
        assert guard.is_stopped(vip, victim, 3.0)
        assert not guard.is_stopped(victim, vip, 3.0)
        assert not guard.is_stopped(vip, victim, 12.5)

    def test_it_counts_what_came_after_and_not_what_was_there(self) -> None:
        guard, vip = LoopGuard(), owned(pod("vip"), "vips").build()
        there = [owned(pod(f"low-{n}"), "low").build() for n in range(5)]

        assert not any(guard.note(vip, victim, 0.0, limit=1) for victim in there)
        newcomer = owned(pod("low-5"), "low").build()
        guard.arrived(newcomer)
        assert guard.note(vip, newcomer, 0.1, limit=1)

    def test_turns_that_are_far_apart_are_no_circle(self) -> None:
        guard, vip = LoopGuard(window=10.0), owned(pod("vip"), "vips").build()

        assert not circle(guard, vip, turns=6, limit=2, every=11.0)
        assert circle(guard, vip, turns=6, limit=2, every=9.0)

    def test_it_forgets_pairs_it_has_not_heard_of_for_long(self) -> None:
        guard = LoopGuard(window=10.0)
        for n in range(100):
            vip, victim = owned(pod("v"), f"v{n}").build(), owned(pod("l"), f"l{n}").build()
            guard.note(vip, victim, n * 5.0, limit=3)

        assert len(guard._first) < 10
        assert len(guard._newcomers) < 10


def circle(guard: LoopGuard, vip: Pod, turns: int, limit: int, every: float = 1.0) -> bool:
    """Evict a pod, and its successors one by one; whether the guard ever said stop."""
    cut = False
    for turn in range(turns + 1):
        victim = owned(pod(f"low-{turn}"), "low").build()
        guard.arrived(victim)
        cut |= guard.note(vip, victim, turn * every, limit)
    return cut


class Rivals(MemoryCluster):
    """A cluster where another scheduler fills node `a` as soon as a pod of its own is deleted."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.evicted: list[str] = []

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        await self.clock.sleep(1.5)
        await super().delete(resource, namespace, name, **options)
        if resource is PODS and name.startswith("rival"):
            self.evicted.append(name)
            made = owned(low(f"rival-{len(self.evicted)}", "a"), "rival")
            self.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})


def test_a_pod_that_waits_for_permission_is_sent_back_and_not_deleted() -> None:
    class Holds(Permit, frozen=True):
        def permit(self, cycle: Cycle, pod: Pod, node: Any) -> Wait | None:
            return Wait(600.0) if pod.name == "patient" else None

    world = GangWorld(*one_core("a"), pod("patient").requesting(cpu="1"), plugins=(Holds,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        world.apply(high("vip"))
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}
    assert "patient" in names(world)
    assert world.events("patient", "Preempted") == [
        "Preempted by pod default/vip on node a (in scheduler memory)."
    ]
    assert world.scheduler.feature(Preemption).counts().evictions == {("memory", "evicted"): 1}
    assert len({a.id for a in world.attempts if a.pod == "default/patient"}) == 2, "tried again"


def test_a_pod_that_is_being_made_ready_is_called_back_and_not_deleted() -> None:
    class Slowly(PreBind, frozen=True):
        async def pre_bind(self, cycle: Cycle, pod: Pod, node: Any) -> None:
            if pod.name == "patient" and cycle.client is not None:
                await cycle.client.wait_until(lambda: False, 600.0)

    world = GangWorld(*one_core("a"), pod("patient").requesting(cpu="1"), plugins=(Slowly,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        assert world.scheduler.binding == 1
        world.apply(high("vip"))
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}
    assert "patient" in names(world)
    assert world.scheduler.binding == 0
    assert world.scheduler.feature(Preemption).counts().evictions == {("memory", "evicted"): 1}
    assert len({a.id for a in world.attempts if a.pod == "default/patient"}) == 2, "tried again"
