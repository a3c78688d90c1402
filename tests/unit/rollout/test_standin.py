"""Standing in for another scheduler while its Lease is expired, in virtual time."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage import Cycle, Node, Permit, Pod, Rejection, Wait
from moorage.app import built_in_plugins
from moorage.config.loader import load
from moorage.memory.memory_cluster import MemoryCluster
from moorage.queue.backoff import Backoff
from moorage.rollout.lease_sight import stand_ins
from moorage.rollout.standin import StandIns
from moorage.scheduler.version import Version
from moorage.testing import node, pod
from moorage.watch.api_errors import Forbidden, Unreachable
from moorage.watch.api_resources import LEASES, PODS
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

OURS, THEIRS = "moorage", "default-scheduler"
SYSTEM, LEASE = "kube-system", "kube-scheduler"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}


class Hold(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        return Wait(60.0)


def ours(*plugins: str, without_lease: str = "Leave") -> dict[str, Any]:
    """A configuration whose profile stands in for the other scheduler."""
    stand_in = {"schedulerName": THEIRS, "withoutLease": without_lease}
    return configuration({**profile(OURS, *plugins), "standInFor": [stand_in]})


class Failing(MemoryCluster):
    """An embedded cluster whose Leases may not be readable."""

    refusal: Exception | None = None

    async def get(self, *args: Any) -> dict[str, Any]:
        if args[0] is LEASES and self.refusal is not None:
            raise self.refusal
        return await super().get(*args)


class World(ChangingWorld):
    """A scheduler of ours, and another one of which there is only the Lease."""

    cluster_type = Failing

    def __init__(self, *objects: Any, hold: bool = False, without_lease: bool = False) -> None:
        plugins = ("Hold",) if hold else ()
        config = ours(*plugins, without_lease="Take" if without_lease else "Leave")
        super().__init__(NAMESPACE, *objects, config=config, plugins=(Hold,))
        self.said: list[tuple[int, str]] = []
        self.renewals = 0

    def renew(self, holder: str = "theirs") -> None:
        """The other scheduler lives."""
        self.renewals += 1
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": LEASE, "namespace": SYSTEM},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": 15,
                "leaseTransitions": self.renewals,
            },
        }
        self.cluster.apply(lease)

    def refuse(self, refusal: Exception | None) -> None:
        assert isinstance(self.cluster, Failing)
        self.cluster.refusal = refusal

    def play(self, story: Callable[["World"], Awaitable[None]]) -> "World":
        async def begin(world: ChangingWorld) -> None:
            await story(self)

        self.run(begin)
        return self

    def prepare(self) -> None:
        loaded = load(
            self._config, known=built_in_plugins.describe_plugins(self.known)
        ).configuration
        given = {StandIns: stand_ins(loaded)}
        profiles = self.scheduler.profiles
        self.scheduler.install(Version(1, "", profiles, Backoff(), features=given))

    def told(self, level: int, sentence: str) -> None:
        self.said.append((level, sentence))

    @property
    def standing_in(self) -> bool:
        return self.scheduler.feature(StandIns).state()[THEIRS]


def theirs(name: str = "web") -> Any:
    return pod(name).scheduled_by(THEIRS)


def test_pods_are_left_alone_while_their_scheduler_lives() -> None:
    async def story(world: World) -> None:
        for _ in range(10):
            world.renew()
            await world.clock.sleep(10)
        assert not world.standing_in

    world = World(node("a"), theirs()).play(story)

    assert (world.node_of("web"), world.attempts, world.said) == (None, [], [])


def test_pods_are_taken_when_the_lease_has_expired_and_not_before() -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(14)
        assert world.node_of("web") is None
        await world.clock.sleep(6)
        assert world.standing_in

    world = World(node("a"), theirs()).play(story)

    assert world.node_of("web") == "a"
    assert world.said == [
        (
            logging.WARNING,
            "profile moorage takes the pods of default-scheduler: Lease kube-system/kube-scheduler "
            "has not been renewed for 15 s",
        )
    ]
    (event,) = world.events("StandingIn")
    assert (event["type"], event["reportingController"]) == ("Warning", OURS)
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Lease", LEASE)


def test_pods_are_given_back_when_the_lease_is_renewed() -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(20)
        world.apply(theirs("huge").requesting(cpu="64"))
        await world.clock.sleep(1)
        assert len(world.scheduler.queue) == 1
        world.renew("another")
        await world.clock.sleep(1)
        assert not world.standing_in
        assert len(world.scheduler.queue) == 0
        attempts = len(world.attempts)
        world.apply(theirs("late"), node("b").offering(cpu="128"))
        for _ in range(30):
            world.renew()
            await world.clock.sleep(10)
        assert len(world.attempts) == attempts

    world = World(node("a"), theirs()).play(story)

    assert [world.node_of(name) for name in ("web", "huge", "late")] == ["a", None, None]
    assert world.said[-1] == (
        logging.INFO,
        "profile moorage gives back the pods of default-scheduler: Lease "
        "kube-system/kube-scheduler has been renewed by another",
    )
    assert len(world.events("GivenBack")) == 1


def test_what_is_being_bound_when_the_other_returns_is_bound() -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(20)
        (waiting,) = world.scheduler.waiting.all()
        world.renew()
        await world.clock.sleep(1)
        assert not world.standing_in
        assert world.scheduler.cache.assumed
        waiting.allow("Hold")
        await world.clock.sleep(1)

    assert World(node("a"), theirs(), hold=True).play(story).node_of("web") == "a"


def test_where_the_other_is_quicker_the_pod_is_let_go() -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(20)
        (waiting,) = world.scheduler.waiting.all()
        other = "b" if waiting.node == "a" else "a"
        await world.cluster.bind("default", "web", waiting.pod.uid, other)
        world.renew()
        waiting.allow("Hold")
        await world.clock.sleep(5)
        assert not world.scheduler.cache.assumed
        assert len(world.scheduler.queue) == 0
        assert world.node_of("web") == other
        assert world.bindings == []

    World(node("a"), node("b"), theirs(), hold=True).play(story)


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Unreachable("cut"), id="the API server is not there"),
        pytest.param(Forbidden("leases are forbidden"), id="we may not read it"),
    ],
)
def test_a_lease_that_cannot_be_read_is_no_reason_to_stand_in(refusal: Exception) -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(10)
        world.refuse(refusal)
        await world.clock.sleep(100)
        assert not world.standing_in
        world.refuse(None)
        await world.clock.sleep(14)
        assert not world.standing_in
        await world.clock.sleep(6)
        assert world.standing_in

    world = World(node("a"), theirs()).play(story)

    troubles = [text for _, text in world.said if "cannot be read" in text]
    want = f"Lease kube-system/kube-scheduler: it cannot be read: {refusal}, so nobody stands in"
    assert troubles == [want]


def test_a_lease_that_is_not_there_tells_nothing() -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(100)

    world = World(node("a"), theirs()).play(story)

    assert world.node_of("web") is None
    assert world.said == [
        (
            logging.WARNING,
            "Lease kube-system/kube-scheduler: there is no such Lease, so nobody stands in",
        )
    ]


def test_a_lease_that_is_not_there_is_expired_where_the_profile_says_so() -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(14)
        assert not world.standing_in
        await world.clock.sleep(6)

    world = World(node("a"), theirs(), without_lease=True).play(story)

    assert world.node_of("web") == "a"


def test_a_standby_takes_over_standing_in_but_says_nothing_of_it() -> None:
    async def story(world: World) -> None:
        world.scheduler.active.clear()
        world.renew()
        await world.clock.sleep(20)
        assert world.standing_in
        assert world.node_of("web") is None
        world.scheduler.active.set()
        await world.clock.sleep(1)

    world = World(node("a"), theirs()).play(story)

    assert world.node_of("web") == "a"
    assert world.events("StandingIn") == []


def test_another_configuration_does_not_end_it() -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(20)
        world.change(ours("Hold"))
        world.apply(theirs("late"))
        await world.clock.sleep(0.1)
        (waiting,) = world.scheduler.waiting.all()
        assert waiting.pod.name == "late"
        assert world.standing_in

    world = World(node("a"), theirs()).play(story)

    assert len(world.said) == 1


def test_a_configuration_that_does_not_ask_for_it_ends_it() -> None:
    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(20)
        world.change(configuration(profile(OURS)))
        world.apply(theirs("late"))
        await world.clock.sleep(60)
        assert world.scheduler.feature(StandIns).state() == {}
        world.change(ours())
        await world.clock.sleep(10)
        assert not world.standing_in
        await world.clock.sleep(10)
        assert world.standing_in

    assert World(node("a"), theirs()).play(story).node_of("late") == "a"


def test_a_profile_of_that_name_is_not_touched() -> None:
    """Another configuration may bring one while we stand in; it stays when the Lease is renewed."""

    async def story(world: World) -> None:
        world.renew()
        await world.clock.sleep(20)
        world.change(configuration(profile(OURS), profile(THEIRS)))
        await world.clock.sleep(3)
        assert world.scheduler.feature(StandIns).state() == {}
        world.renew()
        await world.clock.sleep(3)
        world.apply(theirs("late"))
        await world.clock.sleep(3)

    world = World(node("a"), theirs()).play(story)

    assert world.node_of("late") == "a"
    assert len(world.cluster.objects(PODS)) == 2
