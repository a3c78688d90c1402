"""Tenants are served by how little they have."""

from typing import Any

import pytest

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.cache.cache import Cache
from moorage.framework.plugin import give_handles
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.backoff import Backoff
from moorage.scheduler.queue_order import QueueOrder, queue_for
from moorage.tenancy.fair_share import FairShare
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_resources import PODS
from tests.unit.gang.gang_world import GangWorld, Raw, group, member, settle

ENABLED = {"queueSort": {"enabled": [{"name": "FairShare"}], "disabled": [{"name": "*"}]}}


def pods_of(tenant: str, count: int, **requests: str) -> list[PodBuilder]:
    asked = requests or {"cpu": "1"}
    return [pod(f"{tenant}-{i}", tenant).requesting(asked) for i in range(count)]


class Queue:
    """A cluster of 10 cores and 10 GiB, and pods that enter the queue in turn."""

    def __init__(self, **args: Any) -> None:
        self.cache = Cache()
        self.cache.put_node(node("a").offering(cpu="10", memory="10Gi").build())
        self.sort = FairShare(**args)
        self.handles = give_handles({"FairShare": self.sort}, self.cache, {})
        self.time = 0.0

    def run(self, *built: PodBuilder) -> None:
        for made in built:
            self.cache.put_pod(made.on("a").build())

    def order(self, *built: PodBuilder) -> list[str]:
        keyed = []
        for made in built:
            self.time += 1
            queued = QueuedPod(self.cache.info(made.build()), self.time)
            keyed.append((self.sort.sort_key(queued), made.build().name))
            queued.state = State.ACTIVE
        return [name for _, name in sorted(keyed)]


def test_tenants_take_turns_whoever_came_first() -> None:
    order = Queue().order(*pods_of("red", 3), *pods_of("blue", 3))

    assert order == ["red-0", "blue-0", "red-1", "blue-1", "red-2", "blue-2"]


def test_who_has_little_goes_first() -> None:
    queue = Queue()
    queue.run(*pods_of("red", 2))

    assert queue.order(*pods_of("red", 1), *pods_of("blue", 3)) == [
        "blue-0",
        "blue-1",
        "red-0",
        "blue-2",
    ]


def test_the_dominant_resource_counts() -> None:
    """Red has three tenths of the memory, blue two tenths of the cores."""
    queue = Queue()
    queue.run(*pods_of("red", 1, cpu="1", memory="3Gi"), *pods_of("blue", 1, cpu="2"))
    waiting = [pod(f"{name}-next", name).requesting(cpu="1") for name in ("red", "blue")]

    assert queue.order(*waiting) == ["blue-next", "red-next"]


def test_a_heavier_tenant_gets_more() -> None:
    queue = Queue(weights={"red": 2.0})

    order = queue.order(*pods_of("red", 4), *pods_of("blue", 2))

    assert order == ["red-0", "blue-0", "red-1", "red-2", "blue-1", "red-3"]


def test_priority_comes_before_fairness() -> None:
    queue = Queue()
    queue.run(*pods_of("red", 5))
    vip = pod("vip", "red").requesting(cpu="1").prioritised(9)

    assert queue.order(*pods_of("blue", 1), vip)[0] == "vip"


def namespace(name: str, **labels: str) -> Namespace:
    return decode_as({"metadata": {"name": name, "labels": labels}}, Namespace)


def test_a_label_of_namespaces_may_name_the_tenant() -> None:
    queue = Queue(tenant_label="team")
    for name, team in (("a", "red"), ("b", "red"), ("c", "blue")):
        queue.cache.objects.put(namespace(name, team=team))
    asked = [pod(f"{name}-{i}", name).requesting(cpu="1") for i in range(2) for name in "abc"]

    assert queue.order(*asked) == ["a-0", "c-0", "b-0", "c-1", "a-1", "b-1"]


def test_a_pod_does_not_choose_its_tenant() -> None:
    """A new name for each pod would put them all in front."""
    queue = Queue(tenant_label="team")
    greedy = [pod(f"red-{i}", "red").labelled(team=f"t{i}").requesting(cpu="1") for i in range(3)]

    assert queue.order(*greedy, *pods_of("blue", 1)) == ["red-0", "blue-0", "red-1", "red-2"]


def test_a_namespace_that_changes_hands_takes_what_it_uses_along() -> None:
    queue = Queue(tenant_label="team")
    queue.cache.objects.put(namespace("red", team="one"))
    queue.cache.objects.put(namespace("blue", team="two"))
    queue.run(*pods_of("red", 4))
    later = [pod("r", "red").requesting(cpu="1"), pod("b", "blue").requesting(cpu="1")]
    assert queue.order(*later) == ["b", "r"]

    queue.cache.objects.put(namespace("red", team="two"))
    queue.cache.objects.put(namespace("blue", team="one"))
    queue.cache.objects.put(namespace("green", team="two"))
    queue.sort.begin_sort()

    green = pod("g", "green").requesting(cpu="1")
    assert queue.order(green, later[1]) == ["b", "g"]


def test_a_pod_asked_about_twice_counts_once() -> None:
    queue = Queue()
    queued = QueuedPod(queue.cache.info(pods_of("red", 1)[0].build()), 1.0)

    assert queue.sort.sort_key(queued) == queue.sort.sort_key(queued)


def test_pods_that_left_the_queue_are_no_longer_ahead() -> None:
    queue = Queue()
    first = QueuedPod(queue.cache.info(pods_of("red", 1)[0].build()), 1.0)
    queue.sort.sort_key(first)
    first.state = State.OUTSIDE

    assert queue.order(pods_of("red", 2)[1], pods_of("blue", 1)[0]) == ["red-1", "blue-0"]


def test_pods_that_were_queued_before_nodes_were_known_of_take_turns_too() -> None:
    """After a restart pods may be read first: whose share of what, is known only later."""
    profiles, cache = GangWorld(enabled=ENABLED).profiles, Cache()
    for each in profiles.values():
        each.handles = give_handles(each.plugins, cache, each.shared)
    waiting = queue_for(profiles.values(), lambda: 0.0, Backoff())
    ordering = QueueOrder(profiles.values(), cache, waiting)
    for time, made in enumerate([*pods_of("red", 3), *pods_of("blue", 3)]):
        waiting.add(cache.info(made.build()), float(time))
    cache.put_node(node("a").build())

    ordering.tick(10.0)

    popped = [waiting.pop(10.0) for _ in range(6)]
    assert [queued.info.pod.name for queued in popped if queued is not None] == [
        "red-0",
        "blue-0",
        "red-1",
        "blue-1",
        "red-2",
        "blue-2",
    ]


def test_what_ends_meanwhile_counts_no_longer() -> None:
    """Red runs on all cores while its pods and blue's are queued; then red's pods end."""
    running = [made.on("a") for made in pods_of("red", 6)]
    world = GangWorld(node("a").offering(cpu="6"), *running, enabled=ENABLED)

    async def story(world: GangWorld) -> None:
        waiting = [pod(f"late-red-{i}", "red").requesting(cpu="1") for i in range(6)]
        world.apply(
            *waiting, *[pod(f"late-blue-{i}", "blue").requesting(cpu="1") for i in range(6)]
        )
        await settle(world)
        for i in range(6):
            await world.cluster.delete(PODS, "red", f"red-{i}", grace_period_seconds=0)
        await settle(world)

    world.run(story)

    assert (len(world.bound("late-red")), len(world.bound("late-blue"))) == (3, 3)


def test_groups_of_tenants_take_turns() -> None:
    """Red brings three groups before blue brings one; there is room for two."""
    groups: list[PodBuilder | Raw] = []
    for tenant, count in (("red", 3), ("blue", 1)):
        for index in range(count):
            name = f"{tenant}-{index}"
            written = group(name, 2)
            written["metadata"]["namespace"] = tenant
            built = [member(f"{name}-{i}", name) for i in range(2)]
            for made in built:
                made.raw["metadata"]["namespace"] = tenant
            groups += [written, *built]
    world = GangWorld(node("a").offering(cpu="4").cordoned(), *groups, enabled=ENABLED)

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(node("a").offering(cpu="4"))
        await settle(world)

    world.run(story)

    assert (len(world.bound("red")), len(world.bound("blue"))) == (2, 2)


@pytest.mark.parametrize("plugin", ["FairShare", "PrioritySort"])
def test_on_a_cluster_too_small_for_all_tenants_share_it(plugin: str) -> None:
    """Red brings eight pods before blue brings four; there is room for six."""
    enabled = {"queueSort": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}}
    world = GangWorld(
        node("a").offering(cpu="6").cordoned(),
        *pods_of("red", 8),
        *pods_of("blue", 4),
        enabled=enabled,
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(node("a").offering(cpu="6"))
        await settle(world)

    world.run(story)

    shares = len(world.bound("red")), len(world.bound("blue"))
    assert (shares == (3, 3)) is (plugin == "FairShare")
