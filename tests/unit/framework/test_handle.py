"""What a plugin from outside the package gets from the scheduler it runs in."""

from typing import ClassVar

import pytest

from moorage import Cycle, Filter, Node, Permit, Pod, QueuedPod, QueueSort, Rejection, Wait
from moorage.framework.handle import HandleError
from moorage.framework.plugin_metrics import PluginMetrics
from moorage.observe.prometheus_metrics import Metrics
from moorage.testing import Cluster, node, pod
from moorage.watch.api_resources import PODS as _PODS
from tests.unit.gang.gang_world import GangWorld

QUORUM = 3


class Quorum(Permit, frozen=True):
    """Pods of an app wait until three of them do; then all are let go."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        app = pod.labels.get("app")
        waiting = [each.pod for each in self.handle.waiting_pods()]
        others = [each for each in waiting if each.labels.get("app") == app]
        if len(others) + 1 < QUORUM:
            return Wait(30.0)
        for other in others:
            assert self.handle.allow(other.uid)
            self.handle.record(other, "Quorum", "enough of them wait")
        self.handle.counter("quorums", "Groups let go.", ("app",)).count(str(app))
        self.handle.gauge("last_size", "Pods let go last.").set(len(others) + 1)
        self.handle.histogram("size", "Pods let go.", bounds=(2, 4)).observe(len(others) + 1)
        return None


def test_a_permit_plugin_lets_waiting_pods_go_once_there_are_enough() -> None:
    """Each waits on its node; the third releases the others, and all are bound at once."""
    apps = [pod(f"web-{index}").labelled(app="web") for index in range(2)]
    world = GangWorld(node("a"), *apps, plugins=(Quorum,))
    metrics = Metrics()

    async def story(world: GangWorld) -> None:
        metrics.follow(world.scheduler)
        await world.clock.sleep(5)
        assert world.bound() == {}
        assert len(world.scheduler.waiting.all()) == 2
        world.apply(pod("web-2").labelled(app="web"))
        await world.clock.sleep(1)

    world.run(story)

    assert set(world.bound()) == {"web-0", "web-1", "web-2"}
    assert world.events("web-0", "Quorum") == ["enough of them wait"]
    lines = metrics.render()[0].decode().splitlines()
    assert 'moorage_plugin_Quorum_quorums_total{app="web"} 1.0' in lines
    assert "moorage_plugin_Quorum_last_size 3.0" in lines
    assert 'moorage_plugin_Quorum_size_bucket{le="4.0"} 1.0' in lines


class Bouncer(Permit, frozen=True):
    """Rejects whoever waits when a pod comes that is labelled so."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        if pod.labels.get("closing") != "true":
            return Wait(3600.0)
        for waiting in self.handle.waiting_pods():
            self.handle.reject(waiting.pod.uid, "closing time")
        return None


def test_a_permit_plugin_rejects_waiting_pods() -> None:
    world = GangWorld(node("a"), pod("late"), plugins=(Bouncer,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        world.apply(pod("last").labelled(closing="true"))
        await world.clock.sleep(1)

    world.run(story)

    assert set(world.bound()) == {"last"}
    assert "closing time" in world.condition("late")["message"]


class FewestFirst(QueueSort, frozen=True):
    """Namespaces go first that run the fewest pods: an order that goes by the cluster."""

    resort_seconds: ClassVar[float] = 2.0

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        namespace = queued.info.pod.namespace
        running = sum(info.pod.namespace == namespace for _, info in self.handle.cache.pods())
        return running, queued.timestamp

    def begin_sort(self) -> None:
        sorts = self.handle.shared.get("FewestFirst", 0)
        self.handle.shared["FewestFirst"] = sorts + 1


def test_an_order_that_goes_by_the_cluster_is_sorted_anew_as_the_cluster_changes() -> None:
    """Both namespaces wait for room; red's pods end, and red goes first though blue came first."""
    enabled = {"queueSort": {"enabled": [{"name": "FewestFirst"}], "disabled": [{"name": "*"}]}}
    running = [pod(f"red-{i}", "red").requesting(cpu="1").on("a") for i in range(2)]
    running.append(pod("blue-0", "blue").requesting(cpu="1").on("a"))
    world = GangWorld(
        node("a").offering(cpu="3"), *running, plugins=(FewestFirst,), enabled=enabled
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        world.scheduler.active.clear()
        waiting = [pod(f"next-{name}", name).requesting(cpu="2") for name in ("blue", "red")]
        world.apply(*waiting)
        await world.clock.sleep(1)
        for index in range(2):
            await world.cluster.delete(_PODS, "red", f"red-{index}", grace_period_seconds=0)
        await world.clock.sleep(1)
        world.scheduler.active.set()
        await world.clock.sleep(10)

    world.run(story)

    assert world.profile.shared["FewestFirst"] >= 1
    assert "next-red" in world.bound("next-")
    assert "next-blue" not in world.bound("next-")


def test_without_asking_for_it_the_queue_is_not_sorted_anew() -> None:
    class Once(FewestFirst, frozen=True):
        resort_seconds: ClassVar[float] = 0.0

    enabled = {"queueSort": {"enabled": [{"name": "Once"}], "disabled": [{"name": "*"}]}}
    world = GangWorld(node("a"), pod("web"), plugins=(Once,), enabled=enabled)

    world.run()

    assert "FewestFirst" not in world.profile.shared


class ReadsCache(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        assert self.handle.cache is cycle.cache
        assert self.handle.now() == cycle.now
        assert self.handle.shared is cycle.shared
        return None


def test_a_plugin_under_test_has_a_handle_too() -> None:
    assert Cluster(node("a"), plugins=[ReadsCache()]).place(pod("web")) == "a"


def test_a_plugin_that_runs_nowhere_is_told_so() -> None:
    with pytest.raises(HandleError, match="Quorum has no handle"):
        _ = Quorum().handle


def test_a_handle_is_no_argument() -> None:
    cluster = Cluster(node("a"), plugins=[ReadsCache()])

    assert cluster.profile.plugins["ReadsCache"] == cluster.profile.plugins["ReadsCache"]
    assert ReadsCache.__struct_fields__ == ()


def test_a_metric_keeps_its_kind_and_its_labels() -> None:
    metrics = PluginMetrics()
    first = metrics.counter("Quorum", "seen", "Pods seen.", ("app",))

    assert metrics.counter("Quorum", "seen", "Pods seen.", ("app",)) is first
    with pytest.raises(ValueError, match="of another kind or by other labels"):
        metrics.gauge("Quorum", "seen", "Pods seen.", ("app",))
    with pytest.raises(ValueError, match="has the labels app; 0 were given"):
        first.count()
    with pytest.raises(ValueError, match="a metric cannot be named"):
        metrics.gauge("Quorum", "not so", "", ())
