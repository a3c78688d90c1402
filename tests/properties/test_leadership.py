"""Whatever the network does and whoever stands still, no two replicas may send at once."""

import asyncio
import itertools
import random
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from moorage.clock import VirtualClock, run_virtual
from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import ApiError, Unreachable
from moorage.watch.api_resources import NAMESPACES

TERMS = LeaseTimes(retry_period=0.2)
STEPS = 150


class SlowServer(MemoryCluster):
    """A server whose answers take their time; requests to it and answers get lost."""

    def __init__(self, clock: VirtualClock, rng: random.Random) -> None:
        super().__init__(clock=clock)
        self.virtual = clock
        self.add(NAMESPACES, {"metadata": {"name": TERMS.namespace}})
        self._rng = rng

    async def get(self, *args: Any) -> dict[str, Any]:
        return await self._sent(super().get, *args)

    async def create(self, *args: Any, **options: Any) -> dict[str, Any]:
        return await self._sent(super().create, *args, **options)

    async def update(self, *args: Any, **options: Any) -> dict[str, Any]:
        return await self._sent(super().update, *args, **options)

    async def _sent(self, request: Any, *args: Any, **options: Any) -> dict[str, Any]:
        await self._travel(0.0, 0.01)
        answer: dict[str, Any] = await request(*args, **options)
        await self._travel(0.0, 0.0, 0.3, 2.0, 4.5)
        return answer

    async def _travel(self, *seconds: float) -> None:
        await self.clock.sleep(self._rng.choice(seconds))
        if self._rng.random() < 0.05:
            raise Unreachable("lost")


class Replica:
    """It leads when it can. It may stand still: then it learns nothing, and forgets nothing."""

    def __init__(self, name: str, server: SlowServer, rng: random.Random) -> None:
        self.fence = LeaseFence(TERMS.lease_duration, server.clock.now)
        self.elector = LeaderElector(server, TERMS, name, self.fence, clock=server.clock, rng=rng)

    async def run(self) -> None:
        while True:
            try:
                await self.elector.acquire()
                await self.elector.hold()
            except (LeaseLost, ApiError):
                continue

    @property
    def may_send(self) -> bool:
        try:
            self.fence.check()
        except LeaseLost:
            return False
        return True


async def story(server: SlowServer, rng: random.Random) -> list[str]:
    """Who led, one after the other; now and then the leader stands still, for ever."""
    names = (f"r{number}" for number in itertools.count())
    replicas: list[Replica] = []
    tasks: dict[Replica, asyncio.Task[None]] = {}
    seen = []
    for _ in range(STEPS):
        while len(tasks) < 3:
            replica = Replica(next(names), server, rng)
            replicas.append(replica)
            tasks[replica] = asyncio.ensure_future(replica.run())
        await server.clock.sleep(0.5)
        senders = [each for each in replicas if each.may_send]
        assert len(senders) <= 1
        seen += [each.elector.identity for each in senders]
        if senders and senders[0] in tasks and rng.random() < 0.1:
            tasks.pop(senders[0]).cancel()
    return [name for name, _ in itertools.groupby(seen)]


@given(st.integers(0, 2**32))
def test_no_two_replicas_may_send_at_once(seed: int) -> None:
    rng = random.Random(seed)
    server = SlowServer(VirtualClock(1_767_225_600.0), rng)

    leaders = run_virtual(story(server, rng), server.virtual)

    event(f"{len(leaders)} terms")
    assert leaders
