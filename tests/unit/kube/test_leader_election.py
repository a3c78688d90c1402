"""Leader election on the embedded cluster, in virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage.clock import VirtualClock, run_virtual
from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.kube.leader_election import LAST_SEND_SECONDS, LeaderElector, LeaseTimes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.bursts import short_bursts
from moorage.scheduler.feature import Features
from moorage.scheduler.loop import AttemptGate
from moorage.scheduler.loop import Loop as ScheduleLoop
from moorage.watch.api_errors import Unreachable
from moorage.watch.api_resources import LEASES, NAMESPACES

NAMESPACE, NAME = "moorage-system", "moorage"
START = 1_767_225_600.0


class Server(MemoryCluster):
    """An embedded cluster whose network can be cut."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock=clock, options=ClusterOptions(auto_namespaces=False))
        self.add(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        self.cut = False
        self.slow = 0.0

    async def get(self, *args: Any) -> dict[str, Any]:
        await self._travel()
        return await super().get(*args)

    async def update(self, *args: Any, **options: Any) -> dict[str, Any]:
        await self._travel()
        return await super().update(*args, **options)

    async def _travel(self) -> None:
        if self.slow:
            await self.clock.sleep(self.slow)
        if self.cut:
            raise Unreachable("cut")

    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.read(LEASES, NAMESPACE, NAME)["spec"]
        return spec


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        self.server = Server(self.clock)
        self.said: list[str] = []

    def elector(self, identity: str, *serves: str, **given: Any) -> LeaderElector:
        terms = LeaseTimes(**given)
        self.fence = LeaseFence(terms.lease_duration, self.clock.now)
        return LeaderElector(
            self.server,
            terms,
            identity,
            self.fence,
            clock=self.clock,
            rng=random.Random(7),
            told=lambda news: self.said.append(news.sentence),
            serves=lambda: serves,
        )

    @property
    def passed(self) -> float:
        return self.clock.now() - START


def play(scenario: Callable[[World], Awaitable[None]]) -> World:
    world = World()
    run_virtual(scenario(world), world.clock)  # type: ignore[arg-type]
    return world


def test_the_first_to_ask_leads_and_leaves_kubes_record() -> None:
    async def scenario(world: World) -> None:
        await world.elector("a").acquire()

    world = play(scenario)

    assert world.server.spec() == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    assert world.said == ["a became leader"]


def test_renewing_moves_the_renew_time_only() -> None:
    async def scenario(world: World) -> None:
        elector = world.elector("a")
        await elector.acquire()
        await holding(world, elector, 5.0)

    spec = play(scenario).server.spec()

    assert spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert spec["renewTime"] == "2026-01-01T00:00:04.000000Z"
    assert spec["leaseTransitions"] == 0


def test_a_standby_waits_for_as_long_as_the_lease_is_renewed() -> None:
    async def scenario(world: World) -> None:
        leader, standby = world.elector("a"), world.elector("b")
        await leader.acquire()
        waiting = asyncio.ensure_future(standby.acquire())
        await holding(world, leader, 300.0)

        assert not waiting.done()
        assert standby.holder == "a"
        waiting.cancel()

    play(scenario)


def test_a_standby_takes_over_when_the_lease_expires() -> None:
    async def scenario(world: World) -> None:
        await world.elector("a").acquire()
        standby = world.elector("b")
        await standby.acquire()

        assert 15.0 <= world.passed <= 15.0 + 2.2 * 2.0

    world = play(scenario)

    assert world.server.spec()["holderIdentity"] == "b"
    assert world.server.spec()["leaseTransitions"] == 1


def test_expiry_counts_from_when_a_change_was_seen_not_from_its_time_stamp() -> None:
    """Clocks of replicas may differ by hours."""

    async def scenario(world: World) -> None:
        await world.elector("a").acquire()
        world.clock.advance(3_600)
        await world.elector("b").acquire()

        assert world.passed >= 3_600 + 15.0

    play(scenario)


def test_a_released_lease_is_taken_at_once() -> None:
    async def scenario(world: World) -> None:
        leader, standby = world.elector("a"), world.elector("b")
        await leader.acquire()
        await leader.release()

        assert not leader.leading
        assert world.server.spec()["holderIdentity"] == ""
        assert world.server.spec()["leaseDurationSeconds"] == 1
        await standby.acquire()
        assert world.passed == 0.0

    assert play(scenario).said == ["a became leader", "a stopped leading", "b became leader"]


def test_only_the_holder_releases() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        await leader.acquire()
        await world.elector("b").acquire()
        await leader.release()

    assert play(scenario).server.spec()["holderIdentity"] == "b"


def test_a_leader_that_cannot_renew_gives_up_before_its_lease_expires() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        await leader.acquire()
        world.server.cut = True
        with pytest.raises(LeaseLost, match="not renewed within 10 s"):
            await leader.hold()

        assert 10.0 <= world.passed < 15.0
        assert not leader.leading

    play(scenario)


def test_a_short_failure_is_survived() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        await leader.acquire()
        held = asyncio.ensure_future(leader.hold())
        world.server.cut = True
        await world.clock.sleep(8.0)
        world.server.cut = False
        await world.clock.sleep(30.0)

        assert not held.done()
        held.cancel()

    play(scenario)


def test_a_server_that_does_not_answer_counts_as_failing() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        await leader.acquire()
        world.server.slow = 60.0
        with pytest.raises(LeaseLost):
            await leader.hold()

        assert world.passed < 15.0

    play(scenario)


def test_a_leader_whose_lease_was_taken_loses_it_at_once() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        await leader.acquire()
        lease = world.server.read(LEASES, NAMESPACE, NAME)
        taken = {**lease, "spec": {**lease["spec"], "holderIdentity": "b"}}
        await world.server.update(LEASES, taken)
        with pytest.raises(LeaseLost, match="b has taken the lease"):
            await leader.hold()

        assert world.passed == 2.0

    play(scenario)


def test_two_that_ask_at_once_do_not_both_lead() -> None:
    async def scenario(world: World) -> None:
        world.server.slow = 0.1
        electors = [world.elector(name) for name in "abcd"]
        asking = [asyncio.ensure_future(elector.acquire()) for elector in electors]
        await world.clock.sleep(10.0)

        assert [elector.leading for elector in electors].count(True) == 1
        for task in asking:
            task.cancel()

    play(scenario)


def test_the_fence_opens_with_the_lease_and_closes_before_anyone_else_may_lead() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        with pytest.raises(LeaseLost, match="does not lead"):
            world.fence.check()
        await leader.acquire()
        world.clock.advance(14.9)
        world.fence.check()
        world.clock.advance(0.1)
        with pytest.raises(LeaseLost, match="ran out"):
            world.fence.check()

    play(scenario)


def test_a_lease_counts_from_its_request_not_from_the_answer() -> None:
    async def scenario(world: World) -> None:
        world.server.slow = 2.0
        leader = world.elector("a")
        await leader.acquire()

        assert world.passed == 2.0
        assert leader.seconds_left == pytest.approx(15.0 - 2.0)

        asked = world.passed + 2.0
        held = asyncio.ensure_future(leader.hold())
        await world.clock.sleep(6.1)
        assert leader.seconds_left == pytest.approx(asked + 15.0 - world.passed)
        held.cancel()

    play(scenario)


def test_who_labels_a_lease_does_not_prolong_it() -> None:
    async def scenario(world: World) -> None:
        await world.elector("a").acquire()
        waiting = asyncio.ensure_future(world.elector("b").acquire())
        while not waiting.done():
            await world.clock.sleep(1.0)
            lease = world.server.read(LEASES, NAMESPACE, NAME)
            labels = {"seen-at": str(int(world.passed))}
            labelled = {**lease, "metadata": {**lease["metadata"], "labels": labels}}
            await world.server.update(LEASES, labelled)

        assert 15.0 <= world.passed <= 15.0 + LAST_SEND_SECONDS + 2.2 * 2.0

    world = play(scenario)

    assert world.server.spec()["holderIdentity"] == "b"


def test_terms_are_honoured() -> None:
    async def scenario(world: World) -> None:
        terms = {"lease_duration": 4.0, "renew_deadline": 3.0, "retry_period": 1.0}
        await world.elector("a", **terms).acquire()
        await world.elector("b", **terms).acquire()

        assert 4.0 <= world.passed <= 4.0 + 2.2

    assert play(scenario).server.spec()["leaseDurationSeconds"] == 4


def test_other_fields_of_the_lease_are_kept() -> None:
    async def scenario(world: World) -> None:
        leader = world.elector("a")
        await leader.acquire()
        lease = world.server.read(LEASES, NAMESPACE, NAME)
        labelled = {**lease, "metadata": {**lease["metadata"], "labels": {"team": "x"}}}
        await world.server.update(LEASES, labelled)
        await holding(world, leader, 5.0)

    world = play(scenario)

    assert world.server.read(LEASES, NAMESPACE, NAME)["metadata"]["labels"] == {"team": "x"}


async def holding(world: World, elector: LeaderElector, seconds: float) -> None:
    held = asyncio.ensure_future(elector.hold())
    await world.clock.sleep(seconds)
    assert not held.done()
    held.cancel()
    await asyncio.gather(held, return_exceptions=True)


def test_a_lease_is_taken_when_what_its_holder_sent_last_has_arrived() -> None:
    async def scenario(world: World) -> None:
        await world.elector("a").acquire()
        standby = world.elector("b", retry_period=0.01)
        await standby.acquire()

        assert world.passed == pytest.approx(15.0 + LAST_SEND_SECONDS, abs=0.03)

    play(scenario)


def test_a_lease_that_was_deleted_is_not_taken_while_its_holder_may_believe_in_it() -> None:
    async def scenario(world: World) -> None:
        leader, standby = world.elector("a"), world.elector("b")
        fence = world.fence
        await leader.acquire()
        waiting = asyncio.ensure_future(standby.acquire())
        await world.clock.sleep(5.0)
        await world.server.delete(LEASES, NAMESPACE, NAME)
        await waiting

        assert world.passed >= 15.0 + LAST_SEND_SECONDS
        assert fence.leading  # it was never told

    play(scenario)


def test_others_wait_for_no_less_than_a_lease_is_held() -> None:
    async def scenario(world: World) -> None:
        await world.elector("a", lease_duration=15.5).acquire()

    assert play(scenario).server.spec()["leaseDurationSeconds"] == 16


def waited(theirs: tuple[str, ...], ours: tuple[str, ...]) -> list[str]:
    """What a replica says that waits for another to let go of the lease."""

    async def scenario(world: World) -> None:
        await world.elector("a", *theirs).acquire()
        waiting = asyncio.ensure_future(world.elector("b", *ours).acquire())
        await world.clock.sleep(5.0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    return play(scenario).said[1:]


def test_who_waits_for_a_scheduler_of_other_names_says_so() -> None:
    said = waited(("cost-optimizer", "batch"), ("lowcpu-scheduler",))

    assert set(said) == {
        "Lease moorage-system/moorage is held by a, which schedules for batch, cost-optimizer: "
        "pods of lowcpu-scheduler wait for as long as it does; give this scheduler a Lease of its "
        "own (leaderElection.resourceName, or --leader-elect-resource-name)"
    }


@pytest.mark.parametrize(("theirs", "ours"), [(("x", "y"), ("y", "z")), ((), ("x",)), (("x",), ())])
def test_a_standby_of_the_same_scheduler_waits_in_silence(
    theirs: tuple[str, ...], ours: tuple[str, ...]
) -> None:
    assert waited(theirs, ours) == []


def test_a_missing_namespace_of_moorages_own_is_made() -> None:
    """By one of two replicas that start at once; the other finds it made."""

    async def scenario(world: World) -> None:
        where = {"namespace": "new", "makes_namespace": True}
        both = [world.elector(name, **where) for name in ("a", "b")]
        world.server.slow = 0.5
        acquiring = [asyncio.ensure_future(each.acquire()) for each in both]
        await asyncio.wait(acquiring, return_when=asyncio.FIRST_COMPLETED)
        await world.clock.sleep(5.0)
        for each in acquiring:
            each.cancel()
        await asyncio.gather(*acquiring, return_exceptions=True)

    world = play(scenario)

    assert world.server.read(LEASES, "new", NAME)["spec"]["holderIdentity"] == "a"
    assert [said for said in world.said if "could not" not in said] == [
        "made the namespace new for the lease",
        "a became leader",
    ]


def test_a_missing_namespace_of_others_is_not_made() -> None:
    async def scenario(world: World) -> None:
        acquiring = asyncio.ensure_future(world.elector("a", namespace="new").acquire())
        await world.clock.sleep(1.0)
        world.server.add(NAMESPACES, {"metadata": {"name": "new"}})
        await acquiring

    assert play(scenario).said == [
        'the lease could not be acquired or renewed: namespaces "new" not found',
        "a became leader",
    ]


@pytest.mark.parametrize("seconds", [pytest.param(3.0, id="as long as an attempt may be"), 1.0])
def test_a_lease_is_renewed_however_long_attempts_are(seconds: float) -> None:
    """Attempts come without end, each as long as its budget lasts; a request takes four turns."""
    turns: list[float] = []

    class Far(Server):
        async def _travel(self) -> None:
            for _ in range(4):
                await self.clock.sleep(0.005)

    async def scenario(world: World) -> None:
        world.server = Far(world.clock)
        elector = world.elector("a")
        await elector.acquire()
        loop = endless_attempts(world, lambda: turns.append(world.fence.seconds_left), seconds)
        holding_it, attempting = asyncio.ensure_future(elector.hold()), asyncio.ensure_future(loop)
        await world.clock.sleep(200.0)
        assert not holding_it.done()
        assert not attempting.done()
        for task in (holding_it, attempting):
            task.cancel()

    play(scenario)

    assert len(turns) > 40
    assert min(turns) > 5.0


async def endless_attempts(world: World, attempt: Callable[[], None], seconds: float) -> None:
    """A scheduling loop that always has a pod; attempts block the event loop for so long."""

    def one() -> bool:
        attempt()
        world.clock.advance(seconds)
        return True

    active = asyncio.Event()
    active.set()
    loop = ScheduleLoop(
        one,
        AttemptGate(),
        SchedulingQueue(lambda queued: queued.info.uid, {}, {}, now=world.clock.now),
        world.clock,
        Features(),
        active=active,
        woken=active,
        leads=lambda: True,
        bursts=short_bursts(world.clock.now),
    )
    await loop.run(lambda: True)
