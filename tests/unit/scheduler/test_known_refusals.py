"""Equal pods are refused once as long as nothing changes, and none of them misses its chance."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app.assembly import assemble
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock, run_virtual
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin
from moorage.framework.points import Filter
from moorage.framework.verdicts import Rejection, unschedulable
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt
from moorage.scheduler.known_refusals import in_common
from moorage.scheduler.recent_refusals import REST_SECONDS
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.testing.small_cluster import profile_of
from moorage.watch.api_resources import EVENTS, NODES, PODS

Raw = dict[str, Any]
WAITING = 30


class Seen:
    """Every attempt, by pod; and when each pod was bound."""

    def __init__(self) -> None:
        self.attempts: Counter[str] = Counter()
        self.messages: dict[str, str] = {}
        self.asked = 0

    def attempted(self, attempt: Attempt) -> None:
        self.attempts[attempt.pod] += 1
        self.messages[attempt.pod] = attempt.message


class World:
    """A cluster, and a scheduler that does without attempts whose end is known, or does not."""

    def __init__(
        self,
        sparing: bool,
        plugins: tuple[Plugin, ...] = (),
        cluster: type[MemoryCluster] = MemoryCluster,
    ) -> None:
        self.clock = VirtualClock(1000.0)
        self.cluster = cluster(clock=self.clock, rng=random.Random(1))
        self.seen = Seen()
        self._sparing = sparing
        self._profile = profile_of(list(plugins), False, NO_LIMITS)

    def apply(self, *objects: NodeBuilder | PodBuilder | Raw) -> None:
        for obj in objects:
            if isinstance(obj, dict):
                self.cluster.apply(obj)
            else:
                kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
                self.cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})

    def placed(self) -> set[str]:
        found = self.cluster.objects(PODS)
        return {pod.name for pod in found if isinstance(pod, Pod) and pod.spec.node_name}

    def run(self, story: Callable[["World"], Awaitable[None]]) -> None:
        async def main() -> None:
            scheduler = assemble(
                self.cluster,
                {self._profile.scheduler_name: self._profile},
                clock=self.clock,
                rng=random.Random(0),
                observers=(self.seen,),
                sparing=self._sparing,
            )
            running = asyncio.ensure_future(scheduler.run())
            await self.clock.sleep(1)
            await story(self)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        run_virtual(main(), self.clock)


def full_node() -> list[NodeBuilder | PodBuilder]:
    running = [pod(f"old-{n}").requesting(cpu="1").on("n0") for n in range(10)]
    return [node("n0").offering(cpu="10", pods="110"), *running]


def waiting(own_labels: bool = True) -> list[PodBuilder]:
    """Pods that differ in a label alone, as those of a StatefulSet do."""
    return [
        pod(f"new-{n}").requesting(cpu="1").labelled(number=str(n) if own_labels else "none")
        for n in range(WAITING)
    ]


async def one_after_the_other(world: World) -> None:
    """Every half second a pod ends, and one that waits takes its place at once."""
    for number in range(10):
        await world.cluster.delete(PODS, "default", f"old-{number}", grace_period_seconds=0)
        await world.clock.sleep(0.5)
        assert len(world.placed()) == 10


def test_what_is_known_already_is_not_told_again() -> None:
    world = World(sparing=True)
    world.apply(*full_node(), *waiting())

    async def something_smaller_leaves(world: World) -> None:
        await world.clock.sleep(5)
        world.apply(pod("small").on("n0"))
        await world.clock.sleep(1)
        await world.cluster.delete(PODS, "default", "small", grace_period_seconds=0)
        await world.clock.sleep(1)

    world.run(something_smaller_leaves)
    again = [name for name, attempts in world.seen.attempts.items() if attempts > 1]
    told = [name for name in again if told_again(world, name)]
    assert len(again) == WAITING
    assert len(told) == 1, "the one that was asked about"


def told_again(world: World, pod: str) -> bool:
    """Whether the event that tells why a pod waits has become a series."""
    events = (
        world.cluster.read(EVENTS, "default", each.name) for each in world.cluster.objects(EVENTS)
    )
    return any(
        "series" in event and f"default/{event['regarding']['name']}" == pod for event in events
    )


def test_pods_that_leave_within_a_moment_are_one_attempt_of_who_backs_off() -> None:
    world = World(sparing=True)
    world.apply(*full_node(), pod("large").requesting(cpu="10"))

    async def all_leave_within_a_moment(world: World) -> None:
        for number in range(10):
            await world.cluster.delete(PODS, "default", f"old-{number}", grace_period_seconds=0)
            await world.clock.sleep(REST_SECONDS / 20)
        await world.clock.sleep(REST_SECONDS)
        assert "large" in world.placed()

    world.run(all_leave_within_a_moment)
    assert world.seen.attempts["default/large"] <= 4


def test_the_first_change_after_a_pod_has_come_is_worth_an_attempt_at_once() -> None:
    world = World(sparing=True)
    world.apply(node("small").offering(cpu="1", pods="110"))

    async def a_node_comes_right_after_the_refusal(world: World) -> None:
        world.apply(pod("web").requesting(cpu="3"))
        await world.clock.sleep(REST_SECONDS / 10)
        world.apply(node("large").offering(cpu="4", pods="110"))
        await world.clock.sleep(REST_SECONDS / 10)
        assert world.placed() == {"web"}

    world.run(a_node_comes_right_after_the_refusal)
    assert world.seen.attempts["default/web"] == 2


def test_nobody_less_urgent_passes_a_pod_that_rests() -> None:
    world = World(sparing=True)
    world.apply(node("small").offering(cpu="1", pods="110"))

    async def a_node_comes_a_moment_after_the_refusal(world: World) -> None:
        world.apply(pod("low").requesting(cpu="3"))
        await world.clock.sleep(2 * REST_SECONDS)
        world.apply(pod("high").requesting(cpu="3").prioritised(10))
        await world.clock.sleep(REST_SECONDS / 10)
        world.apply(node("tainted").offering(cpu="4", pods="110").tainted("a"))
        await world.clock.sleep(REST_SECONDS / 10)
        assert world.seen.attempts["default/high"] == 2
        world.apply(node("large").offering(cpu="4", pods="110"))
        await world.clock.sleep(REST_SECONDS / 10)
        assert not world.placed()
        await world.clock.sleep(2 * REST_SECONDS)
        assert world.placed() == {"high"}

    world.run(a_node_comes_a_moment_after_the_refusal)
    assert {each.name for each in world.cluster.objects(PODS)} == {"low", "high"}


def refusals(world: World) -> int:
    return world.seen.attempts.total() - 10


@pytest.mark.parametrize("own_labels", [True, False])
def test_a_place_that_becomes_free_is_one_refusal(own_labels: bool) -> None:
    worlds = [World(sparing) for sparing in (True, False)]
    for world in worlds:
        world.apply(*full_node(), *waiting(own_labels))
        world.run(one_after_the_other)
    sparing, trying = worlds

    assert refusals(trying) > 150
    assert refusals(sparing) < refusals(trying) / 2
    assert set(sparing.seen.messages.values()) == set(trying.seen.messages.values())


DRIVER = "disks.example.com"


def own_disk(made: PodBuilder) -> list[PodBuilder | Raw]:
    """A pod with a claim of its own, which is bound to a volume of its own."""
    name = str(made.raw["metadata"]["name"])
    named = {"name": name, "namespace": "default"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "claimRef": named,
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**named, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": name, "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Bound"},
    }
    source = {"name": "disk", "persistentVolumeClaim": {"claimName": name}}
    return [volume, claim, made.with_spec(volumes=[source])]


def ten_disks() -> list[NodeBuilder | PodBuilder | Raw]:
    """A node that takes ten disks, and has them."""
    limit = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "n0"},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": "n0", "allocatable": {"count": 10}}]},
    }
    running = [each for n in range(10) for each in own_disk(pod(f"old-{n}").on("n0"))]
    return [node("n0").offering(cpu="100", pods="110"), limit, *running]


def test_pods_with_claims_of_their_own_are_alike_where_their_volumes_are() -> None:
    worlds = [World(sparing) for sparing in (True, False)]
    for world in worlds:
        waiting = [each for n in range(WAITING) for each in own_disk(pod(f"new-{n}"))]
        world.apply(*ten_disks(), *waiting)
        world.run(one_after_the_other)
    sparing, trying = worlds

    assert refusals(trying) > 150
    assert refusals(sparing) < refusals(trying) / 2
    assert set(sparing.seen.messages.values()) == set(trying.seen.messages.values())
    assert any("exceed max volume count" in told for told in sparing.seen.messages.values())


def test_one_whose_volume_is_another_matter_is_tried_by_itself() -> None:
    """Nothing has changed since others were refused for want of a place for their disk."""
    world = World(sparing=True)
    world.apply(*ten_disks(), *(each for n in range(5) for each in own_disk(pod(f"new-{n}"))))
    volume, claim, other = own_disk(pod("other"))
    assert isinstance(volume, dict)
    volume["spec"]["csi"]["driver"] = "shares.example.com"
    world.apply(volume, claim, other)

    async def story(world: World) -> None:
        await world.clock.sleep(0.1)

    world.run(story)

    assert {name for name in world.placed() if not name.startswith("old")} == {"other"}


class ByClaim(Filter, frozen=True):
    """Refuses by the names of claims, and promises no more than that equal specs are alike."""

    same_for_equal_pods = True
    reads_labels = False

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        claims = [each.persistent_volume_claim for each in pod.spec.volumes]
        bad = any(claim is not None and claim.claim_name.startswith("new") for claim in claims)
        return unschedulable("bad claim") if bad else None


def test_names_of_claims_count_where_a_plugin_does_not_say_that_it_reads_none() -> None:
    world = World(sparing=True, plugins=(ByClaim(),))
    world.apply(node("n0").offering(cpu="100", pods="110"))
    for name in ("new-0", "new-1", "other"):
        world.apply(*own_disk(pod(name)))

    async def story(world: World) -> None:
        await world.clock.sleep(0.1)

    world.run(story)

    assert world.placed() == {"other"}


async def grow(world: World) -> None:
    """The node is enlarged: nobody may be left to its backoff."""
    await one_after_the_other(world)
    large = node("n0").offering(cpu="100", pods="110")
    raw = {"apiVersion": "v1", "kind": "Node", **large.raw}
    await world.cluster.update(NODES, raw, subresource="status")
    await world.clock.sleep(0.1)
    assert len(world.placed()) == WAITING


def test_whatever_changes_is_worth_a_retry() -> None:
    world = World(sparing=True)
    world.apply(*full_node(), *waiting())
    world.run(grow)


class Odd(Filter, frozen=True):
    """Refuses by the name of the pod, and promises nothing."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable("odd") if int(pod.name[-1]) % 2 else None


def test_who_promises_nothing_is_asked_about_every_pod() -> None:
    world = World(sparing=True, plugins=(Odd(),))
    world.apply(node("n0").offering(cpu="100", pods="110"), *waiting(own_labels=False))

    async def story(world: World) -> None:
        await world.clock.sleep(5)

    world.run(story)
    assert world.placed() == {f"new-{n}" for n in range(WAITING) if n % 2 == 0}


class SignedOdd(Odd, frozen=True):
    """Refuses by the name of the pod, and says so."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        ASKED.append(pod.name)
        return super().filter(cycle, pod, node)

    def refusal_sign(self, cycle: Cycle) -> Hashable | None:
        return int(cycle.pod.name[-1]) % 2


ASKED: list[str] = []


def test_who_signs_is_asked_about_one_pod_of_each_sign_that_it_refuses() -> None:
    ASKED.clear()
    world = World(sparing=True, plugins=(SignedOdd(),))
    world.apply(node("n0").offering(cpu="100", pods="110"), *waiting()[1::2], waiting()[-2])

    async def story(world: World) -> None:
        await world.clock.sleep(0.5)

    world.run(story)
    assert world.placed() == {"new-28"}
    assert len({name for name in ASKED if int(name[-1]) % 2}) < 5  # one for each change
    assert all(world.seen.messages[f"default/new-{n}"] for n in range(1, WAITING, 2))


def test_a_refusal_for_the_sake_of_labels_is_not_shared_by_other_labels() -> None:
    """An anti-affinity keeps the first two apart; the third has other labels, and no quarrel."""
    away: Mapping[str, object] = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "web"}},
                }
            ]
        }
    }
    world = World(sparing=True)
    world.apply(node("n0").offering(cpu="100", pods="110"))
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        world.apply(pod(name).labelled(app=app).with_spec(affinity=away))

    async def story(world: World) -> None:
        await world.clock.sleep(5)

    world.run(story)
    assert "c" not in world.placed()  # it shuns web pods, one of which is there
    assert len(world.placed()) == 1


def test_where_any_label_may_count_so_may_the_owner() -> None:
    """By default constraints pods are spread beside the other pods of their owner."""
    cache = Cache()

    def made(owner: str) -> PodInfo:
        raw = pod("p").labelled(app="web").raw
        reference = {"kind": "ReplicaSet", "name": owner, "controller": True}
        raw["metadata"]["ownerReferences"] = [reference]
        return cache.info(decode_as(raw, Pod))

    assert in_common(made("a"), None) == in_common(made("a"), None)
    assert in_common(made("a"), None) != in_common(made("b"), None)
    assert in_common(made("a"), ("app",)) == in_common(made("b"), ("app",))


def lingering(name: str, on: str) -> PodBuilder:
    """A pod that takes its time to leave."""
    made = pod(name).requesting(cpu="4").on(on)
    made.raw["metadata"]["finalizers"] = ["example.com/slow"]
    return made


def test_that_a_pod_waits_for_its_victims_is_nothing_to_pods_that_have_none() -> None:
    world = World(sparing=True)
    world.apply(*(node(f"n{n}").offering(cpu="4", pods="110") for n in range(2)))
    world.apply(node("small").offering(cpu="1", pods="110"))
    world.apply(lingering("victim-0", "n0"), lingering("victim-1", "n1"))
    world.apply(pod("tiny").requesting(cpu="1").prioritised(1000).on("small"))

    async def story(world: World) -> None:
        world.apply(pod("first").requesting(cpu="4").prioritised(100))
        await world.clock.sleep(3)
        await world.cluster.delete(PODS, "default", "tiny", grace_period_seconds=0)
        await world.clock.sleep(0.5)
        world.apply(pod("second").requesting(cpu="4").prioritised(100))
        await world.clock.sleep(3)

    world.run(story)

    assert "terminating pod on the nominated node" in world.seen.messages["default/first"]
    assert "preempting 1 victims" in world.seen.messages["default/second"]


class SlowStatus(MemoryCluster):
    """An API server that takes three seconds to write the status of pods named `first`."""

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        if name == "first":
            await self.clock.sleep(3)
        await super().patch_pod_status(namespace, name, patch, uid)


def test_a_promise_that_its_status_does_not_tell_yet_is_no_reason_against_the_pod_itself() -> None:
    """An equal pod is refused because of it, while the API server takes its time."""
    world = World(sparing=True, cluster=SlowStatus)
    world.apply(node("n0").offering(cpu="4", pods="110"))
    world.apply(pod("victim").requesting(cpu="4").on("n0"))

    async def story(world: World) -> None:
        world.apply(pod("first").requesting(cpu="4").prioritised(100))
        await world.clock.sleep(0.3)
        await world.cluster.delete(PODS, "default", "victim", grace_period_seconds=0)
        world.apply(pod("second").requesting(cpu="4").prioritised(100))
        await world.clock.sleep(10)

    world.run(story)

    assert world.placed() == {"first"}
