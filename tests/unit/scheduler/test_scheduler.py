"""The whole path on the embedded cluster: watch, cache, queue, cycle, bind."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage import (
    Bind,
    Cycle,
    Filter,
    Node,
    Pod,
    PreEnqueue,
    Rejection,
)
from moorage.api.node import ZONE_LABEL
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.plugin import Plugin
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt, Result
from moorage.queue.backoff import Backoff
from moorage.scheduler.kubelet_rejections import KubeletRejections
from moorage.scheduler.scheduler import Scheduler
from moorage.scheduler.version import Version
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_errors import Conflict
from moorage.watch.api_resources import EVENTS, NODES, PODS, Resource

Objects = NodeBuilder | PodBuilder


class World:
    """A cluster, a scheduler on it, and a clock that moves by itself."""

    def __init__(self, *objects: Objects, plugins: tuple[type[Plugin], ...] = ()) -> None:
        self.clock = VirtualClock(1000.0)
        self.cluster = MemoryCluster(clock=self.clock, rng=random.Random(1))
        for obj in objects:
            self.apply(obj)
        known = built_in_plugins.built_in()
        for plugin in plugins:
            known.add(plugin)
        named = [{"name": plugin.plugin_name()} for plugin in plugins]
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"multiPoint": {"enabled": named}}}],
        }
        loaded = load(config, known=built_in_plugins.describe_plugins(known))
        self.profiles = build_profiles(loaded.configuration, known)
        self.leads = True
        self.attempts: list[Attempt] = []
        self.failures: list[str] = []

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def apply(self, obj: Objects) -> None:
        kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
        self.cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.failures.append(f"{pod}: {error}")

    def run(self, story: Callable[["World"], Awaitable[None]]) -> Scheduler:
        """Run the scheduler while the story unfolds."""

        async def main() -> Scheduler:
            scheduler = self.scheduler = assemble(
                self.cluster,
                self.profiles,
                clock=self.clock,
                rng=random.Random(0),
                observers=(self,),
                leads=lambda: self.leads,
            )
            running = asyncio.ensure_future(scheduler.run())
            await story(self)
            validate_cache(scheduler.cache)
            scheduler.queue.validate()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return scheduler

        return run_virtual(main(), self.clock)

    def pod(self, name: str, namespace: str = "default") -> dict[str, Any]:
        return self.cluster.read(PODS, namespace, name)

    def node_of(self, name: str) -> str | None:
        node: str | None = self.pod(name)["spec"].get("nodeName")
        return node

    def events(self, reason: str) -> list[str]:
        found = (
            self.cluster.read(EVENTS, e.namespace, e.name) for e in self.cluster.objects(EVENTS)
        )
        return [event["note"] for event in found if event["reason"] == reason]


async def settle(world: World) -> None:
    await world.clock.sleep(30)


def test_a_pod_is_bound_and_an_event_says_so() -> None:
    world = World(node("a"), pod("web").requesting(cpu="1"))

    scheduler = world.run(settle)

    assert world.node_of("web") == "a"
    assert world.events("Scheduled") == ["Successfully assigned default/web to a"]
    assert scheduler.cache.assumed == set()
    assert [a.result for a in world.attempts] == [Result.SCHEDULED]


def test_a_pod_of_another_scheduler_is_counted_but_never_touched() -> None:
    world = World(
        node("a").offering(cpu="1"),
        pod("theirs").requesting(cpu="1").scheduled_by("someone-else"),
        pod("running").requesting(cpu="800m").scheduled_by("someone-else").on("a"),
        pod("ours").requesting(cpu="500m"),
    )

    world.run(settle)

    assert world.node_of("theirs") is None
    assert world.node_of("ours") is None
    assert world.attempts[-1].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_room_promised_to_a_pod_of_another_scheduler_is_free_when_the_promise_is_taken_back() -> (
    None
):
    theirs = pod("theirs").requesting(cpu="4").prioritised(100).scheduled_by("another")
    theirs.raw.setdefault("status", {})["nominatedNodeName"] = "a"
    world = World(node("a").offering(cpu="4"), theirs, pod("web").requesting(cpu="4"))

    async def story(world: World) -> None:
        await world.clock.sleep(5)
        assert world.node_of("web") is None
        taken_back, uid = (
            {"status": {"nominatedNodeName": None}},
            world.pod("theirs")["metadata"]["uid"],
        )
        await world.cluster.patch_pod_status("default", "theirs", taken_back, uid)
        await world.clock.sleep(5)

    world.run(story)

    assert world.node_of("web") == "a"


def test_a_pod_that_fits_nowhere_says_why_and_is_placed_when_a_node_comes() -> None:
    world = World(node("a").offering(cpu="1"), pod("big").requesting(cpu="2"))

    async def story(world: World) -> None:
        await settle(world)
        condition = world.pod("big")["status"]["conditions"][0]
        assert condition["reason"] == "Unschedulable"
        assert condition["message"] == world.events("FailedScheduling")[0]
        assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        world.apply(node("b"))
        await settle(world)

    world.run(story)

    assert world.node_of("big") == "b"
    assert len(world.attempts) == 2


def test_an_event_that_cannot_help_costs_no_attempt() -> None:
    world = World(node("a").offering(cpu="1"), pod("big").requesting(cpu="2"))

    async def story(world: World) -> None:
        await settle(world)
        world.apply(node("too-small").offering(cpu="1"))
        world.apply(node("a").offering(cpu="1").labelled(seen="yes"))
        await settle(world)

    world.run(story)

    assert len(world.attempts) == 1


def test_pods_go_in_order_of_priority() -> None:
    world = World(
        node("a").offering(cpu="1"),
        pod("low").requesting(cpu="1").prioritised(1).with_spec(preemptionPolicy="Never"),
        pod("high").requesting(cpu="1").prioritised(5).with_spec(preemptionPolicy="Never"),
    )

    world.run(settle)

    assert world.node_of("high") == "a"
    assert world.node_of("low") is None


def test_a_gated_pod_waits_until_its_gates_are_gone() -> None:
    world = World(node("a"), pod("web").gated("example.com/hold"))

    async def story(world: World) -> None:
        await settle(world)
        assert world.attempts == []
        raw = await world.cluster.get(PODS, "default", "web")
        raw["spec"]["schedulingGates"] = []
        await world.cluster.update(PODS, raw)
        await settle(world)

    world.run(story)

    assert world.node_of("web") == "a"


def test_a_node_that_goes_away_takes_its_room_with_it() -> None:
    world = World(node("a"), node("b").cordoned())

    async def story(world: World) -> None:
        await settle(world)
        await world.cluster.delete(NODES, "", "a")
        world.apply(pod("web"))
        await settle(world)

    world.run(story)

    assert world.node_of("web") is None


def test_a_higher_pod_preempts_a_lower_one_and_takes_its_place() -> None:
    world = World(
        node("a").offering(cpu="1"),
        pod("low").requesting(cpu="1").on("a").with_spec(terminationGracePeriodSeconds=0),
        pod("high").requesting(cpu="1").prioritised(100),
    )

    world.run(settle)

    assert [p.name for p in world.cluster.objects(PODS)] == ["high"]
    assert world.node_of("high") == "a"
    assert len(world.events("Preempted")) == 1


class RefuseOnce(Bind, frozen=True, dict=True):
    """A binder that fails the first time."""

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        if not cycle.shared.setdefault("bound before", False):
            cycle.shared["bound before"] = True
            raise Conflict("the API server said no")
        assert cycle.client is not None
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name)


def test_a_failed_bind_is_undone_and_tried_again_after_a_back_off() -> None:
    world = World(node("a"), pod("web").requesting(cpu="1"), plugins=(RefuseOnce,))
    world.profiles["default-scheduler"].bind = [("RefuseOnce", RefuseOnce())]

    world.run(settle)

    assert world.node_of("web") == "a"
    results = [(a.result, a.message) for a in world.attempts]
    assert results[1][0] is Result.ERROR
    assert "RefuseOnce" in results[1][1]
    assert results[2][0] is Result.SCHEDULED


class Raises(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.labels.get("bad"):
            raise ValueError("cannot read this pod")
        return None


def test_a_plugin_that_raises_costs_its_pod_an_attempt_and_harms_no_other() -> None:
    world = World(node("a"), pod("bad").labelled(bad="yes"), pod("good"), plugins=(Raises,))

    world.run(settle)

    assert world.node_of("good") == "a"
    assert world.node_of("bad") is None
    errors = {a.message for a in world.attempts if a.result is Result.ERROR}
    assert len(errors) == 1
    assert errors.pop().startswith(
        "running Filter plugin 'Raises': ValueError: cannot read this pod (in filter, line "
    )


def test_an_object_that_breaks_us_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Cache.info

    def info(self: Cache, pod: Pod) -> PodInfo:
        if pod.name == "poison":
            raise RuntimeError("this pod breaks us")
        return sound(self, pod)

    monkeypatch.setattr(Cache, "info", info)
    world = World(node("a"), pod("poison"), pod("poison-on-a-node").on("a"), pod("good"))

    world.run(settle)

    assert world.node_of("good") == "a"
    assert world.failures == ["Pod default/poison: this pod breaks us"]


def test_a_bug_of_ours_costs_an_attempt_and_not_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = attempt.run

    def run(profile: Profile, cycle: Cycle) -> Decision | Unschedulable:
        if cycle.pod.name == "unlucky":
            raise ZeroDivisionError("a bug")
        return sound(profile, cycle)

    monkeypatch.setattr(attempt, "run", run)
    world = World(node("a"), pod("unlucky"), pod("good"))

    world.run(settle)

    assert world.node_of("good") == "a"
    messages = {a.message for a in world.attempts if a.result is Result.ERROR}
    assert messages == {"internal error: ZeroDivisionError: a bug"}


def test_without_nodes_a_pod_is_unschedulable_and_not_an_error() -> None:
    world = World(pod("web"))

    async def story(world: World) -> None:
        await settle(world)
        condition = world.pod("web")["status"]["conditions"][0]
        assert condition["reason"] == "Unschedulable"
        assert condition["message"] == "no nodes available to schedule pods"
        world.apply(node("a"))
        await settle(world)

    world.run(story)

    assert world.node_of("web") == "a"


class BadGate(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        raise ValueError("the gate is stuck")


def test_a_gate_that_raises_is_reported() -> None:
    world = World(node("a"), pod("web"), plugins=(BadGate,))

    world.run(settle)

    assert world.node_of("web") is None
    assert any(
        "BadGate" in failure and "the gate is stuck" in failure for failure in world.failures
    )


def test_nothing_is_attempted_while_the_lease_is_not_certain() -> None:
    world = World(node("a"), pod("web"))
    world.leads = False

    async def story(world: World) -> None:
        await world.clock.sleep(5)
        assert world.attempts == []
        world.leads = True
        await world.clock.sleep(1)

    world.run(story)

    assert world.node_of("web") == "a"


def test_a_pod_that_waits_for_another_is_tried_when_we_have_bound_that_one() -> None:
    """To those who wait the other is new on its node, though it was known before."""
    term = {"topologyKey": ZONE_LABEL, "labelSelector": {"matchLabels": {"app": "db"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = World(node("a").in_zone("z"), pod("web").with_spec(affinity=near))

    async def story(world: World) -> None:
        await world.clock.sleep(5)
        assert world.node_of("web") is None
        world.apply(pod("db").labelled(app="db"))
        await world.clock.sleep(20)

    world.run(story)

    assert (world.node_of("db"), world.node_of("web")) == ("a", "a")


def test_a_node_whose_kubelet_rejects_our_pod_is_left_alone_for_a_while() -> None:
    world = World(node("a"), node("b").cordoned(), pod("first").requesting(cpu="1"))

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        assert world.node_of("first") == "a"
        Kubelet(world.cluster).reject("default", "first")
        world.apply(pod("second").requesting(cpu="1"))
        await world.clock.sleep(5)
        assert world.node_of("second") is None
        assert "1 node(s) had just rejected a pod" in world.attempts[-1].message
        await world.clock.sleep(40)

    world.run(story)

    assert world.node_of("second") == "a"
    assert world.events("NodeRejected") == [
        "OutOfcpu: node a rejected the pod and is left alone for a while"
    ]


def test_a_node_whose_kubelet_rejects_our_pod_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its watch may be late: what the API server says now is believed at once."""
    world = World(node("a"), pod("first"))
    get = world.cluster.get

    async def with_less_room(resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        found = await get(resource, namespace, name)
        if resource is not NODES:
            return found
        return {**found, "status": {**found["status"], "allocatable": {"cpu": "7m"}}}

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        monkeypatch.setattr(world.cluster, "get", with_less_room)
        Kubelet(world.cluster).reject("default", "first")
        await world.clock.sleep(1)
        table = world.scheduler.cache.table
        assert table.node(table.row_of["a"]).status.allocatable == {"cpu": "7m"}

    world.run(story)


def test_a_pod_that_names_its_node_itself_rests_nobody() -> None:
    """Else whoever may create pods could put every node to rest, again and again."""
    world = World(node("a"), pod("named").requesting(cpu="99").on("a"))

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        Kubelet(world.cluster).reject("default", "named")
        world.apply(pod("ours"))
        await world.clock.sleep(5)

    world.run(story)

    assert world.node_of("ours") == "a"
    assert world.events("NodeRejected") == []


def test_a_pod_that_had_failed_before_rests_nobody() -> None:
    """A dump has pods that failed long ago; their later changes say nothing new either."""
    failed = pod("old").on("a")
    failed.raw["status"] = {"phase": "Failed", "reason": "OutOfcpu"}
    world = World(node("a"), failed)

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        await world.cluster.patch(PODS, "default", "old", {"metadata": {"labels": {"r": "1"}}})
        world.apply(pod("ours"))
        await world.clock.sleep(5)

    world.run(story)

    assert world.node_of("ours") == "a"


def test_later_changes_of_a_rejected_pod_do_not_prolong_the_rest() -> None:
    world = World(node("a"), pod("first"))

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        Kubelet(world.cluster).reject("default", "first")
        world.apply(pod("second"))
        await world.clock.sleep(20)
        assert world.node_of("second") is None
        await world.cluster.patch(PODS, "default", "first", {"metadata": {"labels": {"r": "1"}}})
        await world.clock.sleep(20)

    world.run(story)

    assert world.node_of("second") == "a"


def test_while_a_node_rests_only_the_end_or_another_node_wakes_who_waits_for_it() -> None:
    world = World(node("a"), pod("first"), pod("other").scheduled_by("another").on("a"))

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        Kubelet(world.cluster).reject("default", "first")
        for i in range(5):
            world.apply(pod(f"w{i}"))
        await world.clock.sleep(2)
        assert len(world.scheduler.cache.resting) == 1
        world.attempts.clear()
        for turn in range(15):
            labels = {"metadata": {"labels": {"turn": str(turn)}}}
            await world.cluster.patch(PODS, "default", "other", labels)
            await world.cluster.patch(NODES, "", "a", labels)
            await world.clock.sleep(1)
        assert world.attempts == []
        world.apply(node("b"))
        await world.clock.sleep(1)

    world.run(story)

    assert {world.node_of(f"w{i}") for i in range(5)} == {"b"}


def test_a_cooldown_of_0_is_none() -> None:
    world = World(node("a"), pod("first"))

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        version = Version(1, "", {}, Backoff(), features={KubeletRejections: 0.0})
        world.scheduler.feature(KubeletRejections).configured(version)
        Kubelet(world.cluster).reject("default", "first")
        world.apply(pod("second"))
        await world.clock.sleep(5)

    world.run(story)

    assert world.node_of("second") == "a"
    assert world.events("NodeRejected") == ["OutOfcpu: node a rejected the pod"]


def test_a_pod_of_another_scheduler_that_is_rejected_rests_nobody() -> None:
    world = World(node("a"), pod("theirs").scheduled_by("someone-else").on("a"))

    async def story(world: World) -> None:
        await world.clock.sleep(1)
        Kubelet(world.cluster).reject("default", "theirs")
        world.apply(pod("ours"))
        await world.clock.sleep(5)

    world.run(story)

    assert world.node_of("ours") == "a"
