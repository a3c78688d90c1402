"""Quotas that lend what is idle, and take it back."""

import sys
from typing import Any

import pytest

from moorage.tenancy import quotas
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_resources import PODS, RESOURCES
from tests.unit.gang.gang_world import GangWorld, settle

Raw = dict[str, Any]
QUOTAS = RESOURCES["elasticquotas"]
ENABLED = {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}}


def quota(namespace: str, least: Raw, most: Raw | None = None, name: str = "quota") -> Raw:
    spec: Raw = {"min": least}
    if most is not None:
        spec["max"] = most
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def pods_of(namespace: str, count: int, cpu: str = "1", priority: int = 0) -> list[PodBuilder]:
    return [
        pod(f"{namespace}-{i}", namespace)
        .requesting(cpu=cpu)
        .prioritised(priority)
        .with_spec(terminationGracePeriodSeconds=0)
        for i in range(count)
    ]


def world_of(*objects: Any, **settings: Any) -> GangWorld:
    return GangWorld(*objects, enabled=ENABLED, **settings)


def message_of(world: GangWorld, namespace: str, name: str) -> str:
    conditions = world.cluster.read(PODS, namespace, name)["status"].get("conditions", [])
    return next(str(c["message"]) for c in conditions if c["type"] == "PodScheduled")


TWO = (quota("red", {"cpu": "4"}, {"cpu": "6"}), quota("blue", {"cpu": "4"}, {"cpu": "8"}))


def test_a_namespace_may_use_no_more_than_its_max() -> None:
    world = world_of(node("a").offering(cpu="8"), *TWO, *pods_of("red", 7))

    world.run()

    assert len(world.bound("red")) == 6
    waiting = next(f"red-{i}" for i in range(7) if f"red-{i}" not in world.bound())
    assert message_of(world, "red", waiting).startswith(
        "0/1 nodes are available: 1 ElasticQuota red/quota: cpu 6 used and 1 asked for exceed its "
        "max of 6."
    )


def test_of_two_quotas_of_a_namespace_the_first_by_name_counts() -> None:
    two = (
        quota("red", {"cpu": "5"}, {"cpu": "5"}, "b"),
        quota("red", {"cpu": "2"}, {"cpu": "2"}, "a"),
    )

    for each in (two, two[::-1]):
        world = world_of(node("a").offering(cpu="8"), *each, *pods_of("red", 7))
        world.run()
        assert len(world.bound("red")) == 2


def test_what_is_borrowed_must_be_idle_elsewhere() -> None:
    """There is room, but not within what all quotas guarantee together."""
    world = world_of(node("a").offering(cpu="20"), *TWO, *pods_of("blue", 4), *pods_of("red", 6))

    world.run()

    assert (len(world.bound("blue")), len(world.bound("red"))) == (4, 4)
    waiting = next(f"red-{i}" for i in range(6) if f"red-{i}" not in world.bound())
    assert "exceed what all quotas guarantee together, 8" in message_of(world, "red", waiting)


def test_an_owner_takes_back_what_others_have_borrowed() -> None:
    """Blue has borrowed two of red's cores, with pods of a higher priority."""
    world = world_of(
        node("a").offering(cpu="4"),
        node("b").offering(cpu="4"),
        *TWO,
        *pods_of("blue", 6, priority=10),
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert len(world.bound("blue")) == 6
        world.apply(*pods_of("red", 4))
        await settle(world, 60)

    world.run(story)

    assert (len(world.bound("blue")), len(world.bound("red"))) == (4, 4)


@pytest.mark.parametrize(
    ("asked", "taken_back"),
    [
        pytest.param({"cpu": "1", "memory": "1Gi"}, 1, id="also for what no quota names"),
        pytest.param({"memory": "64Gi"}, 0, id="but not only for that"),
    ],
)
def test_an_owner_takes_back_what_its_min_names(asked: dict[str, str], taken_back: int) -> None:
    world = world_of(
        node("a").offering(cpu="8", memory="64Gi"),
        *TWO,
        *[made.requesting(cpu="1", memory="1Gi") for made in pods_of("blue", 8)],
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert len(world.bound("blue")) == 8
        world.apply(pod("red-0", "red").requesting(asked))
        await settle(world, 60)

    world.run(story)

    assert 8 - len(world.bound("blue")) == taken_back


def test_nobody_is_pushed_below_its_min() -> None:
    """Blue is above its min by less than the pod that red wants to place."""
    world = world_of(
        node("a").offering(cpu="8"),
        quota("red", {"cpu": "4"}),
        quota("blue", {"cpu": "4"}),
        *pods_of("blue", 5),
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(*pods_of("red", 1, cpu="4"))
        await settle(world, 60)

    world.run(story)

    assert len(world.bound("blue")) == 4
    assert len(world.bound("red")) == 1


def test_a_borrower_evicts_only_its_own_pods_of_lower_priority() -> None:
    world = world_of(
        node("a").offering(cpu="6"),
        quota("red", {"cpu": "2"}, {"cpu": "4"}),
        quota("blue", {"cpu": "4"}),
        *pods_of("blue", 2),
        *pods_of("red", 4),
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert (len(world.bound("blue")), len(world.bound("red"))) == (2, 4)
        world.apply(
            pod("vip", "red").requesting(cpu="1").prioritised(100),
        )
        await settle(world, 60)

    world.run(story)

    assert len(world.bound("blue")) == 2
    assert "vip" in world.bound()
    assert len(world.bound("red")) == 3


def test_a_pod_without_a_quota_is_free_but_evicts_no_pod_that_has_one() -> None:
    world = world_of(
        node("a").offering(cpu="4"), *TWO, *[made.on("a") for made in pods_of("red", 3)]
    )

    async def story(world: GangWorld) -> None:
        world.apply(*[p.prioritised(1000) for p in pods_of("other", 2)])
        await settle(world)

    world.run(story)

    assert (len(world.bound("red")), len(world.bound("other"))) == (3, 1)


def on_host(made: PodBuilder, host: str) -> PodBuilder:
    return made.with_spec(nodeSelector={"kubernetes.io/hostname": host})


def test_a_pod_yields_no_quota_to_a_less_important_one_that_waits_for_its_node() -> None:
    """Nor to a more important one of a namespace that has more than its min already."""
    world = world_of(
        node("a").offering(cpu="2"),
        node("b").offering(cpu="2"),
        quota("red", {"cpu": "2"}, {"cpu": "2"}),
        quota("blue", {"cpu": "0"}, {"cpu": "4"}),
        pod("blue-0", "blue").requesting(cpu="2").on("a"),
        stopping=30.0,
    )

    async def story(world: GangWorld) -> None:
        await settle(world, 1)
        world.apply(on_host(pod("low", "red").requesting(cpu="2").prioritised(10), "a"))
        await settle(world, 2)
        assert world.cluster.read(PODS, "red", "low")["status"]["nominatedNodeName"] == "a"
        assert world.bound("low") == {}
        world.apply(on_host(pod("high", "red").requesting(cpu="2").prioritised(100), "b"))
        await settle(world, 120)

    world.run(story)

    assert world.bound() == {"high": "b"}
    assert "exceed its max of 2" in message_of(world, "red", "low")


@pytest.mark.parametrize(
    ("used", "counts"),
    [
        pytest.param(2, True, id="a namespace within its min takes what is its own"),
        pytest.param(3, False, id="a namespace above its min takes what others may take as well"),
    ],
)
def test_what_is_promised_to_another_namespace_counts_within_its_min(
    used: int, counts: bool
) -> None:
    promised = pod("promised", "blue").requesting(cpu="1").with_spec(schedulerName="another")
    promised.raw["status"] = {"nominatedNodeName": "full"}
    world = world_of(
        node("a").offering(cpu="20"),
        node("full").offering(cpu="1"),
        pod("elsewhere").requesting(cpu="1").on("full"),
        quota("red", {"cpu": "1"}),
        quota("blue", {"cpu": "2"}),
        quota("idle", {"cpu": "3"}),
        *(each.on("a") for each in pods_of("blue", used)),
        promised,
        *pods_of("red", 4),
    )

    world.run()

    assert len(world.bound("red")) == 6 - used - counts


def test_resources_that_no_max_names_are_not_limited() -> None:
    world = world_of(
        node("a").offering(memory="64Gi"),
        quota("red", {"cpu": "4"}, {"cpu": "4"}),
        pod("red-0", "red").requesting(cpu="1", memory="32Gi"),
    )

    world.run()

    assert "red-0" in world.bound()


def test_a_changed_quota_lets_pods_go() -> None:
    world = world_of(
        node("a").offering(cpu="8"), quota("red", {"cpu": "2"}, {"cpu": "2"}), *pods_of("red", 3)
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert len(world.bound("red")) == 2
        world.apply(quota("red", {"cpu": "3"}, {"cpu": "3"}))
        await settle(world)

    world.run(story)

    assert len(world.bound("red")) == 3


def test_what_a_namespace_uses_is_written_to_its_quota() -> None:
    world = world_of(node("a"), quota("red", {"cpu": "2"}, {"memory": "8Gi"}), *pods_of("red", 2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        status = world.cluster.read(QUOTAS, "red", "quota")["status"]
        assert status["used"] == {"cpu": "2", "memory": "0"}
        await world.cluster.delete(PODS, "red", "red-0", grace_period_seconds=0)
        await settle(world)

    world.run(story)

    assert world.cluster.read(QUOTAS, "red", "quota")["status"]["used"]["cpu"] == "1"


def calls_with(quota_count: int) -> int:
    """How many functions run while two pods are tried and all quotas are reviewed once more."""
    quotas = [quota(f"tenant-{i}", {"cpu": "1"}) for i in range(quota_count)]
    nodes = [node(f"n{i}").offering(cpu="1") for i in range(4)]
    world = world_of(
        *nodes, *quotas, *(p.on(f"n{i}") for i, p in enumerate(pods_of("tenant-0", 4)))
    )
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += 1

    async def story(world: GangWorld) -> None:
        await settle(world, 8)
        world.apply(*pods_of("tenant-1", 1), *pods_of("tenant-2", 1))
        sys.setprofile(count)
        await settle(world, 3)
        sys.setprofile(None)

    world.run(story)
    assert set(world.bound("tenant-1")) | set(world.bound("tenant-2")) == {
        "tenant-1-0",
        "tenant-2-0",
    }
    return calls


def test_four_times_as_many_quotas_are_less_than_twice_the_work() -> None:
    """A pod costs the same; only the reviews of the quotas grow with their number."""
    assert calls_with(200) < 2 * calls_with(50)


def test_a_resource_that_a_quota_names_no_longer_is_not_in_its_status() -> None:
    limits = {"cpu": "2", "memory": "8Gi"}
    world = world_of(node("a"), quota("red", limits, limits), *pods_of("red", 1))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert used(world) == {"cpu": "1", "memory": "0"}
        raw = world.cluster.read(QUOTAS, "red", "quota")
        world.cluster.apply({**raw, "spec": {"min": {"cpu": "2"}, "max": {"cpu": "2"}}})
        await settle(world)

    world.run(story)

    assert used(world) == {"cpu": "1"}


def used(world: GangWorld) -> Any:
    """What the status of the quota says."""
    return world.cluster.read(QUOTAS, "red", "quota")["status"]["used"]


class TestBadInput:
    def test_a_min_above_its_max_is_told_and_ignored(self) -> None:
        wrong = quota("red", {"cpu": "4", "memory": "1Gi"}, {"cpu": "2"})
        world = world_of(node("a").offering(cpu="8"), wrong, *pods_of("red", 5))

        world.run()

        assert len(world.bound("red")) == 5
        assert world.events("quota", "InvalidElasticQuota") == [
            "min asks for 4 cpu, which is more than its max of 2: the quota is ignored"
        ]

    def test_a_second_quota_of_a_namespace_is_told_and_ignored(self) -> None:
        world = world_of(
            node("a").offering(cpu="8"),
            quota("red", {"cpu": "3"}, {"cpu": "3"}, name="one"),
            quota("red", {"cpu": "1"}, {"cpu": "1"}, name="two"),
            *pods_of("red", 5),
        )

        world.run()

        assert len(world.bound("red")) == 3
        assert world.events("two") == [
            "the namespace has another ElasticQuota: this one is ignored"
        ]

    def test_once_it_makes_sense_it_holds(self) -> None:
        world = world_of(node("a").offering(cpu="8"), quota("red", {"cpu": "4"}, {"cpu": "2"}))

        async def story(world: GangWorld) -> None:
            await settle(world)
            world.apply(quota("red", {"cpu": "2"}, {"cpu": "2"}), *pods_of("red", 5))
            await settle(world)

        world.run(story)

        assert len(world.bound("red")) == 2


@pytest.mark.parametrize(
    ("least", "most", "fine"),
    [
        pytest.param({"cpu": "1"}, {"cpu": "1"}, True, id="the same"),
        pytest.param({"cpu": "1500m"}, {"cpu": "1"}, False, id="more, in other units"),
        pytest.param({"cpu": "1"}, {}, True, id="no max"),
        pytest.param({}, {"cpu": "1"}, True, id="no min"),
    ],
)
def test_whether_a_quota_makes_sense(least: Raw, most: Raw, fine: bool) -> None:
    from moorage.api.decode import decode_as
    from moorage.api.podgroup import ElasticQuota

    made = decode_as(quota("red", least, most), ElasticQuota)

    assert (quotas.problems(made) == []) is fine
