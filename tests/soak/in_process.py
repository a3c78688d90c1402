"""Churn without an API server: a scheduler in this process, fed with bytes as a watch has them.

Pods of every shape come, are bound or wait, and go; nodes, namespaces, groups, volumes, services
and budgets come and go with them, and no two have a name in common. Time is virtual.

    python -m tests.soak.in_process --rounds 3 --pods 50000
"""

import argparse
import asyncio
import contextlib
import gc
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.batching.quick_decisions import QuickDecisions
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.observe.attempt_tracer import AttemptTracer
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.logs import configure
from moorage.observe.prometheus_metrics import Metrics
from moorage.scheduler.bursts import short_bursts
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_resources import NODES
from tests.soak.byte_cluster import ByteCluster
from tests.soak.shapes import Shapes

START: Final = 1_767_225_600.0
KEPT: Final = 200
PODS_PER_SECOND: Final = 200.0
BESIDE: Final = ("CapacityScheduling", "GangScheduling")
CONFIG: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "moorage",
            "plugins": {
                "multiPoint": {
                    "enabled": [{"name": "CapacityScheduling"}, {"name": "GangScheduling"}]
                }
            },
        },
    ],
}


class Churn:
    """A scheduler and its observers, as `moorage run` has them, and pods that come and go."""

    def __init__(self, clock: VirtualClock, seed: int = 1, kept: int = KEPT) -> None:
        self._clock = clock
        self._kept = kept
        self.server = ByteCluster()
        self._there: deque[list[Any]] = deque()
        self.metrics = Metrics()
        self._nowhere = Path(os.devnull).open("w")  # noqa: SIM115 closed in `end`
        self._log = configure(0, "json", self._nowhere)
        self.decisions = DecisionRecords()
        tracer = AttemptTracer(self.metrics, self._log)
        self.observers = [tracer, self.metrics, self._log.decisions(), self.decisions]
        known = built_in_plugins.built_in()
        found = load(CONFIG, known=built_in_plugins.describe_plugins(known)).configuration
        self.scheduler: Scheduler = assemble(
            self.server,
            build_profiles(found, known),
            clock=clock,
            rng=random.Random(seed),
            observers=self.observers,
            sparing=True,
            bursts=short_bursts(clock.now),
            tap=QuickDecisions(clock.now, tells_parts=True),
        )
        self.metrics.follow(self.scheduler)
        self._shapes = Shapes(random.Random(seed))
        self._task = asyncio.ensure_future(self.scheduler.run())

    async def begin(self) -> None:
        """Nodes that stay."""
        await self._clock.sleep(1.0)
        for number in range(50):
            self.server.put(NODES, self._shapes.node(f"stays-{number}", number))

    async def churn(self, pods: int) -> None:
        """So many pods come; the oldest go."""
        for _ in range(pods):
            brought = self._shapes.draw()
            for resource, raw in brought:
                self.server.put(resource, raw)
            self._there.append(brought)
            if len(self._there) > self._kept:
                self._leave()
            await self._clock.sleep(1.0 / PODS_PER_SECOND)
            if self._task.done():
                self._task.result()

    async def empty(self, seconds: float = 700.0) -> None:
        """All go; what may be remembered for a while is forgotten."""
        while self._there:
            self._leave()
        await self._clock.sleep(seconds)

    def _leave(self) -> None:
        for resource, raw in reversed(self._there.popleft()):
            self.server.remove(resource, raw)

    async def end(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._log.close()
        self._nowhere.close()


def run(play: Callable[[Churn], Any], **options: Any) -> None:
    """Let something happen to a scheduler under churn."""
    clock = VirtualClock(START)

    async def main() -> None:
        churn = Churn(clock, **options)
        try:
            await churn.begin()
            await play(churn)
        finally:
            await churn.end()

    run_virtual(main(), clock)


def rss_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pods", type=int, default=50_000)
    options = parser.parse_args()

    async def play(churn: Churn) -> None:
        for number in range(options.rounds):
            began = time.process_time()
            await churn.churn(options.pods)
            await churn.empty()
            gc.collect()
            spent = time.process_time() - began
            print(
                f"after {(number + 1) * options.pods} pods: {rss_mb():.1f} MB, "
                f"{len(gc.get_objects())} objects, {sys.getallocatedblocks()} blocks, "
                f"{churn.server.bound} bound, {churn.server.evicted} evicted, {spent:.0f} s",
                flush=True,
            )

    run(play)
    return 0


if __name__ == "__main__":
    sys.exit(main())
