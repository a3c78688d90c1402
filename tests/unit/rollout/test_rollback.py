"""A new version of a profile decides for a part of its pods, and is given up when it does worse."""

from types import MappingProxyType
from typing import Any, ClassVar

import pytest

from moorage import Cycle, Filter, Node, Pod, PreBind, Rejection, Reserve
from moorage.app import built_in_plugins
from moorage.framework.plugin import Carried
from moorage.framework.verdicts import unresolvable
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.records import Result
from moorage.rollout.canary import share
from moorage.rollout.rollback import Canaries
from moorage.testing import node, pod
from tests.unit.gang.gang_world import group, members
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

OURS = "default-scheduler"
BASE = configuration(profile(OURS))


class OnlyOn(Filter, frozen=True):
    node: str = "a"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None if node.name == self.node else unresolvable(f"only on {self.node}")


class Mended(Filter, frozen=True):
    """The same plugin, of another class, as after its file was changed."""

    node: str = "a"

    @classmethod
    def plugin_name(cls) -> str:
        return "OnlyOn"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None


class Diary(Reserve, frozen=True):
    """Remembers every pod that was placed, over reloads."""

    carried: ClassVar[Carried] = MappingProxyType({"diary": list})

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared.setdefault("diary", []).append(pod.name)


class Unbindable(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unresolvable("not today")


def canary(name: str, to: str, percent: float, **spec: Any) -> dict[str, Any]:
    plugins = {"multiPoint": {"enabled": [{"name": "OnlyOn"}]}}
    return {
        "apiVersion": "moorage/v1",
        "kind": "ProfileCanary",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": OURS,
            "percent": percent,
            "profile": {
                "plugins": plugins,
                "pluginConfig": [{"name": "OnlyOn", "args": {"node": to}}],
            },
            **spec,
        },
    }


ROOMY = [node(name).offering(pods="1000", cpu="1000") for name in "ab"]


def world(*objects: Any) -> ChangingWorld:
    return ChangingWorld(*ROOMY, *objects, config=BASE, plugins=(OnlyOn,))


def test_shares_are_spread_evenly_and_never_change() -> None:
    found = [share(f"v2/default/web-{index}") for index in range(2_000)]

    assert 0.18 < sum(each < 20 for each in found) / 2_000 < 0.22
    assert found[7] == pytest.approx(84.049969)


def test_it_decides_for_its_part_of_the_pods_and_every_decision_names_its_version() -> None:
    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("v2", "b", 30))
        world.apply(*(pod(f"web-{index}") for index in range(200)))
        await world.clock.sleep(30)

    seen = world().run(story)

    taken = [a for a in seen.attempts if a.version == "v2"]
    assert 40 <= len(taken) <= 80
    assert {a.node for a in taken} == {"b"}
    assert {a.version for a in seen.attempts} == {"v2", "stable"}
    assert {b.version for b in seen.bindings} == {"v2", "stable"}


def test_a_pod_keeps_its_version_over_retries() -> None:
    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("v2", "nowhere", 50, rollback={"maxFailureRate": None}))
        world.apply(*(pod(f"web-{index}") for index in range(20)))
        await world.clock.sleep(1)
        world.apply(node("c"))
        await world.clock.sleep(60)

    seen = world().run(story)

    by_pod: dict[str, set[str]] = {}
    for attempt in seen.attempts:
        by_pod.setdefault(attempt.pod, set()).add(attempt.version)
    retried = [a for a in seen.attempts if a.attempts > 1]
    assert retried
    assert all(len(versions) == 1 for versions in by_pod.values())


def test_all_pods_of_an_owner_have_one_version_where_it_hashes_by_owner() -> None:
    def owned(index: int) -> Any:
        made = pod(f"web-{index}")
        owner = {"kind": "ReplicaSet", "name": f"web-{index % 4}", "uid": "u", "controller": True}
        made.raw["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", **owner}]
        return made

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("v2", "b", 50, hashBy="owner"))
        world.apply(*(owned(index) for index in range(40)))
        await world.clock.sleep(30)

    seen = world().run(story)

    versions: dict[int, set[str]] = {}
    for attempt in seen.attempts:
        versions.setdefault(int(attempt.pod.rpartition("-")[2]) % 4, set()).add(attempt.version)
    assert all(len(found) == 1 for found in versions.values())
    assert {version for found in versions.values() for version in found} == {"v2", "stable"}


def test_groups_are_left_to_the_stable_version() -> None:
    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("v2", "b", 100))
        world.apply(group("gang", 3), *members("gang", 3))
        await world.clock.sleep(30)

    seen = world().run(story)

    assert {a.version for a in seen.attempts} == {"stable"}


def test_one_that_fails_is_given_up_and_its_pods_are_the_stable_versions_again() -> None:
    metrics = Metrics()

    async def story(world: ChangingWorld) -> None:
        world.scheduler.observers.add(metrics)
        bad = canary("v2", "nowhere", 50, rollback={"minPods": 10, "maxFailureRate": 0.3})
        world.change(BASE, bad)
        world.apply(*(pod(f"web-{index}") for index in range(60)))
        await world.clock.sleep(30)
        (shown,) = world.scheduler.feature(Canaries).shown()
        assert (shown["state"], shown["percent"]) == ("RolledBack", 0.0)
        assert shown["versions"]["stable"]["failureRate"] == 0.0

    seen = world().run(story)

    assert len(seen.bindings) == 60
    (rolled_back,) = seen.rollbacks
    assert (rolled_back.profile, rolled_back.version) == (OURS, "v2")
    assert rolled_back.reason == "its failure rate, 100%, is above 30%"
    failed = [a for a in seen.attempts if a.version == "v2"]
    assert 10 <= len(failed) <= 11
    assert {a.result for a in failed} == {Result.UNSCHEDULABLE}
    told = metrics.render()[0].decode()
    labels = f'profile="{OURS}",version="v2"'
    assert f"moorage_canary_rollbacks_total{{{labels}}} 1.0" in told
    assert f"moorage_canary_percent{{{labels}}} 0.0" in told
    failures = f'profile="{OURS}",result="unschedulable",version="v2"'
    assert f"moorage_version_attempts_total{{{failures}}} 10.0" in told
    stable = f'profile="{OURS}",result="scheduled",version="stable"'
    assert f"moorage_version_attempt_duration_seconds_count{{{stable}}} " in told


def test_one_that_was_given_up_stays_so_until_it_is_changed() -> None:
    bad = canary("v2", "nowhere", 100, rollback={"minPods": 5})
    good = canary("v2", "b", 100, rollback={"minPods": 5})

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, bad)
        world.apply(*(pod(f"one-{index}") for index in range(10)))
        await world.clock.sleep(30)
        world.change(configuration(profile(OURS), podMaxBackoffSeconds=30), bad)
        world.apply(pod("two"))
        await world.clock.sleep(5)
        assert world.attempts[-1].version == "stable"
        world.change(BASE, good)
        world.apply(pod("three"))
        await world.clock.sleep(5)
        assert world.attempts[-1].version == "v2"

    seen = world().run(story)

    assert seen.node_of("three") == "b"
    assert len(seen.rollbacks) == 1


def test_one_that_was_given_up_stays_so_beside_another_stable_version() -> None:
    bad = canary("v2", "nowhere", 100, rollback={"minPods": 5})

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, bad)
        world.apply(*(pod(f"one-{index}") for index in range(10)))
        await world.clock.sleep(30)
        assert len(world.rollbacks) == 1
        world.change(configuration(profile(OURS, "OnlyOn")), bad)
        world.apply(pod("two"))
        await world.clock.sleep(5)
        (shown,) = world.scheduler.feature(Canaries).shown()
        assert (shown["state"], shown["percent"]) == ("RolledBack", 0.0)

    seen = world().run(story)

    assert seen.attempts[-1].version == "stable"
    assert seen.node_of("two") == "a"


def test_what_plugins_carry_over_a_reload_both_versions_share() -> None:
    given = canary("v2", "b", 100)
    given["spec"]["profile"]["plugins"]["multiPoint"]["enabled"].append({"name": "Diary"})
    base = configuration(profile(OURS, "Diary"))

    async def story(world: ChangingWorld) -> None:
        world.apply(pod("before"))
        await world.clock.sleep(5)
        world.change(base, given)
        world.apply(pod("after"))
        await world.clock.sleep(5)
        (stable,) = world.scheduler.profiles.values()
        assert stable.shared["diary"] == ["before", "after"]

    seen = ChangingWorld(*ROOMY, config=base, plugins=(OnlyOn, Diary)).run(story)

    assert [each.version for each in seen.attempts] == ["", "v2"]


def test_an_attempt_whose_binding_fails_is_one_attempt() -> None:
    """It is reported twice: when the pod was placed, and when the binding failed."""
    given = canary("v2", "b", 100, rollback={"maxFailureRate": None})
    given["spec"]["profile"]["plugins"]["multiPoint"]["enabled"].append({"name": "Unbindable"})

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, given)
        world.apply(*(pod(f"web-{index}") for index in range(5)))
        await world.clock.sleep(0.5)
        (shown,) = world.scheduler.feature(Canaries).shown()
        assert shown["versions"]["v2"]["failureRate"] == 1.0
        assert shown["versions"]["v2"]["attempts"] == 5

    seen = ChangingWorld(*ROOMY, config=BASE, plugins=(OnlyOn, Unbindable)).run(story)

    assert (len(seen.attempts), len({each.id for each in seen.attempts})) == (10, 5)


def test_one_whose_plugin_was_mended_is_tried_again() -> None:
    given = canary("v2", "nowhere", 100, rollback={"minPods": 5})

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, given)
        world.apply(*(pod(f"one-{index}") for index in range(10)))
        await world.clock.sleep(30)
        assert len(world.rollbacks) == 1
        world.known = built_in_plugins.built_in()
        world.known.add(Mended)
        world.change(BASE, given)
        world.apply(pod("two"))
        await world.clock.sleep(5)

    assert world().run(story).attempts[-1].version == "v2"


def test_beside_another_stable_version_counting_begins_anew() -> None:
    given = canary("v2", "b", 50)

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, given)
        world.apply(*(pod(f"one-{index}") for index in range(20)))
        await world.clock.sleep(5)
        world.change(configuration(profile(OURS, "OnlyOn")), given)
        (shown,) = world.scheduler.feature(Canaries).shown()
        assert {found["attempts"] for found in shown["versions"].values()} == {0}

    world().run(story)


def test_one_that_stays_the_same_goes_on_counting_over_a_reload() -> None:
    given = canary("v2", "b", 50)

    async def story(world: ChangingWorld) -> None:
        world.change(BASE, given)
        world.apply(*(pod(f"one-{index}") for index in range(20)))
        await world.clock.sleep(5)
        (before,) = world.scheduler.feature(Canaries).shown()
        world.change(configuration(profile(OURS), podMaxBackoffSeconds=30), given)
        assert world.scheduler.feature(Canaries).shown() == [before]

    world().run(story)


def test_without_a_canary_no_version_is_told() -> None:
    async def story(world: ChangingWorld) -> None:
        world.change(BASE, canary("v2", "b", 50))
        world.change(BASE)
        world.apply(pod("web"))
        await world.clock.sleep(5)

    assert [a.version for a in world().run(story).attempts] == [""]
