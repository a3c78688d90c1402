"""Attempts come in bursts: many in a row, and then everybody else has a turn."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable

import pytest

from moorage.app.assembly import assemble
from moorage.clock import VirtualClock, run_virtual
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt, Bound
from moorage.scheduler.bursts import Bursts, one_by_one
from moorage.testing import node, pod
from moorage.testing.small_cluster import profile_of

PODS = 12
LONG = 100.0


class Seen:
    """What happened, in order, and when each attempt was made."""

    def __init__(self) -> None:
        self.story: list[str] = []
        self.times: dict[str, float] = {}

    def attempted(self, attempt: Attempt) -> None:
        self.story.append("attempt")
        self.times[attempt.pod] = attempt.time

    def bound(self, bound: Bound) -> None:
        self.story.append("bound")


class World:
    """A cluster of one node that takes everything, and a scheduler."""

    def __init__(self, bursts: Callable[[VirtualClock], Bursts | None]) -> None:
        self.clock = VirtualClock(1000.0)
        self.cluster = MemoryCluster(clock=self.clock, rng=random.Random(1))
        self.seen = Seen()
        self.leads: Callable[[], bool] = lambda: True
        self._bursts = bursts(self.clock)
        self.cluster.apply(
            {"apiVersion": "v1", "kind": "Node"} | node("n0").offering(cpu="64", pods="110").raw
        )

    def add(self, name: str) -> None:
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod"} | pod(name).raw)

    def run(self, story: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            profile = profile_of([], False, NO_LIMITS)
            scheduler = assemble(
                self.cluster,
                {profile.scheduler_name: profile},
                clock=self.clock,
                rng=random.Random(0),
                observers=(self.seen,),
                leads=lambda: self.leads(),
                bursts=self._bursts,
            )
            running = asyncio.ensure_future(scheduler.run())
            await story()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        run_virtual(main(), self.clock)


def longest_row(seen: Seen) -> int:
    """The most attempts in a row before any pod was bound in between."""
    rows = itertools.groupby(seen.story)
    return max(len(list(row)) for what, row in rows if what == "attempt")


def ticking(seconds: float) -> Callable[[VirtualClock], Bursts]:
    """Bursts by a clock on which every attempt takes a second."""
    passed = itertools.count()
    return lambda clock: Bursts(seconds, 0.0, lambda: float(next(passed)))


@pytest.mark.parametrize(
    ("bursts", "longest"),
    [
        pytest.param(lambda clock: None, range(1, 4), id="one by one, where nothing is said"),
        pytest.param(lambda clock: one_by_one(), range(1, 4), id="one by one"),
        pytest.param(ticking(6.0), range(6, 8), id="as many as fit into a burst"),
        pytest.param(ticking(LONG), range(PODS, PODS + 1), id="all of them in a long one"),
    ],
)
def test_pods_are_bound_between_bursts(
    bursts: Callable[[VirtualClock], Bursts | None], longest: range
) -> None:
    world = World(bursts)
    for number in range(PODS):
        world.add(f"p-{number}")

    world.run(lambda: world.clock.sleep(10))

    assert world.seen.story.count("bound") == PODS
    assert longest_row(world.seen) in longest


def test_a_lease_that_ends_in_a_burst_ends_the_burst() -> None:
    world = World(lambda clock: Bursts(LONG, 0.0, clock.now))
    for number in range(PODS):
        world.add(f"p-{number}")
    world.leads = lambda: world.seen.story.count("attempt") < 3

    world.run(lambda: world.clock.sleep(10))

    assert world.seen.story.count("attempt") == 3


def test_a_pod_that_comes_right_after_another_waits_for_more() -> None:
    world = World(lambda clock: Bursts(0.0, 0.5, clock.now))

    async def story() -> None:
        await world.clock.sleep(10)
        for name, later in (("first", 0.1), ("second", 0.1), ("third", 10.0), ("alone", 10.0)):
            world.add(name)
            await world.clock.sleep(later)

    world.run(story)

    first, second, third, alone = (
        round(world.seen.times[f"default/{name}"] - 1010.0, 1)
        for name in ("first", "second", "third", "alone")
    )
    assert (first, alone) == (0.0, 10.2)
    assert second == third == 0.5  # the first one is bound: that wakes the loop, which waits
