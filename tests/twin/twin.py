"""One run of a story: two replicas, a cluster, and everything that happens to them."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from moorage.cache.consistency import validate_cache
from moorage.clock import VirtualClock, run_virtual
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.tasks import cancelled
from moorage.watch.api_errors import ApiError
from tests.twin.checker import Checker
from tests.twin.replica import TERMS, Replica
from tests.twin.story import TOGETHER, WINDOWS, Step, Story
from tests.twin.users import Users
from tests.twin.weather import LAGGING, Disk

FIRST_LOOK_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 15.0
QUIET_SECONDS: Final = 240.0
"""How long after the last fault everything must be where it should be."""
COLLECT_SECONDS: Final = 5.0
LED_SECONDS: Final = 15.0
LED_LOOK_SECONDS: Final = 0.5
ROOM_SECONDS: Final = 1.0
HEIR_SECONDS: Final = 3.0
IN_FLIGHT_SECONDS: Final = 0.001
RUSH_SECONDS: Final = 0.3
SLEEP_SECONDS: Final = 14.0
ON_REPLICAS: Final = ("kill", "tear", "expire", "partial", "jump", "clock")


class Outcome(NamedTuple):
    """How a story ended."""

    violations: list[str]
    steps: int
    faults: Counter[str]
    binds: int
    quiet_seconds: float

    @property
    def fault_steps(self) -> int:
        """Steps of the story, and faults that struck a request or an event meanwhile."""
        return self.steps + self.faults.total()


def run(story: Story) -> Outcome:
    """Let a story unfold, wait until all is quiet, and judge."""
    clock = VirtualClock(1000.0)
    return run_virtual(Twin(story, clock).run(), clock)


class Twin:
    """The cluster and its replicas while a story unfolds."""

    def __init__(self, story: Story, clock: VirtualClock) -> None:
        self._story = story
        self._clock = clock
        self._cluster = MemoryCluster(clock=clock, rng=random.Random(story.seed))
        self._users = Users(self._cluster, (TERMS.namespace, TERMS.name))
        self._checker = Checker(self._cluster, self._users.deleted)
        self._disk = Disk(clock, story.seed * 7 + 5)
        self._replicas = [
            Replica(name, self._cluster, clock, self._disk, story.seed * 7 + index)
            for index, name in enumerate("ab")
        ]

    async def run(self) -> Outcome:
        self._users.begin()
        work = [
            self._checker.watch_pods(),
            self._checker.watch_nodes(),
            self._users.kubelet.serve(),
            self._collect(),
        ]
        tasks = [asyncio.ensure_future(each) for each in work]
        lives = [asyncio.ensure_future(replica.run()) for replica in self._replicas]
        for step in self._story.steps:
            await self._clock.sleep(step.pause)
            if step.kind in TOGETHER:
                await self._until_led()
            self._take(step)
        quiet = await self._settle()
        self._judge(lives)
        await cancelled(*lives, *tasks)
        faults = sum((replica.weather.struck for replica in self._replicas), Counter[str]())
        faults["disk"] += self._disk.struck
        steps = len(self._story.steps)
        return Outcome(self._checker.violations, steps, faults, self._checker.binds, quiet)

    async def _until_led(self) -> None:
        """Return when a replica leads; after a while in any case."""
        until = self._clock.now() + LED_SECONDS
        while not any(replica.leads for replica in self._replicas) and self._clock.now() < until:
            await self._clock.sleep(LED_LOOK_SECONDS)

    async def _settle(self) -> float:
        """End all faults; return when nothing is wrong any more, or it has been long enough."""
        self._disk.recover()
        self._users.open_nodes()
        for replica in self._replicas:
            replica.weather.clear()
        begun = self._clock.now()
        await self._clock.sleep(FIRST_LOOK_SECONDS)
        while self._checker.problems() and self._clock.now() - begun < QUIET_SECONDS:
            await self._clock.sleep(LOOK_SECONDS)
        return self._clock.now() - begun

    def _judge(self, lives: list[Any]) -> None:
        self._checker.quiet()
        for replica, life in zip(self._replicas, lives, strict=True):
            self._checker.violations += replica.failures
            if life.done():
                self._checker.violations.append(f"a replica broke: {life.exception()!r}")
            if replica.scheduler is not None:
                validate_cache(replica.scheduler.cache)
                replica.scheduler.queue.validate()

    async def _collect(self) -> None:
        while True:
            await self._clock.sleep(COLLECT_SECONDS)
            self._users.collect_orphans()
            self._users.lose_patience()

    def _take(self, step: Step) -> None:
        replica = self._replicas[step.target % len(self._replicas)]
        if step.kind == "disk":
            self._disk.slow_down(step.seconds)
        elif step.kind == "lag":
            lagging = LAGGING[step.target // 2 % len(LAGGING)]
            replica.weather.begin(f"lag/{lagging}", step.seconds)
        elif step.kind in TOGETHER:
            getattr(self, f"_{step.kind}")(step)
        elif step.kind in WINDOWS:
            replica.weather.begin(step.kind, step.seconds)
        elif step.kind in ON_REPLICAS:
            getattr(replica, step.kind)(step.target)
        else:
            with contextlib.suppress(ApiError):  # what it was about is gone
                getattr(self._users, step.kind)(step)

    def _leader(self, step: Step) -> tuple[Replica, Replica]:
        """The replica that leads, and the other; one of them where none does."""
        one, other = self._replicas if step.target % 2 else reversed(self._replicas)
        return (other, one) if other.leads else (one, other)

    def _succession(self, step: Step) -> None:
        """The standby hears nothing of pods, a node comes and is filled, the leader dies."""
        leader, heir = self._leader(step)
        heir.weather.begin("deaf", 4 * HEIR_SECONDS)
        self._later(ROOM_SECONDS, lambda: self._users.room(step))
        self._later(HEIR_SECONDS, leader.lose)

    def _overtaken(self, step: Step) -> None:
        """The leader falls asleep with a binding in its hands, and urgent pods come meanwhile."""
        sleeper, _ = self._leader(step)
        self._users.large(step)
        self._later(IN_FLIGHT_SECONDS, lambda: sleeper.weather.begin("freeze", SLEEP_SECONDS))
        self._later(HEIR_SECONDS, lambda: self._users.urgents(step))

    def _rush(self, step: Step) -> None:
        """Urgent pods come while a gang is being bound, one pod sooner than another."""
        leader, _ = self._leader(step)
        leader.weather.begin("slow", HEIR_SECONDS)
        self._users.crew(step)
        self._later(RUSH_SECONDS, lambda: self._users.urgents(step))

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        self._clock.call_at(self._clock.now() + seconds, work)
