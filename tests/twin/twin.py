"""One run of a story: two replicas, a cluster, and everything that happens to them."""

import asyncio
import contextlib
import random
from collections import Counter
from typing import Any, NamedTuple

from moorage.api.pod import Pod
from moorage.cache.consistency import validate_cache
from moorage.clock import VirtualClock, run_virtual
from moorage.memory import deletion
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.tasks import cancelled
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import NODES, PODS
from tests.twin import story as tell
from tests.twin.checker import Checker
from tests.twin.replica import Replica
from tests.twin.story import WINDOWS, Step, Story

NODES_AT_START = 4
QUIET_SECONDS = 400.0
MEMBERS = 3


class Outcome(NamedTuple):
    """How a story ended."""

    violations: list[str]
    steps: int
    faults: Counter[str]
    binds: int

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
        self._kubelet = Kubelet(self._cluster)
        self._checker = Checker(self._cluster)
        self._nodes = NODES_AT_START
        self._replicas = [
            Replica(name, self._cluster, clock, story.seed * 7 + index)
            for index, name in enumerate("ab")
        ]

    async def run(self) -> Outcome:
        for index in range(self._nodes):
            self._cluster.add(NODES, tell.node(f"n{index}", "4"))
        work = [self._checker.watch(), self._kubelet.serve()]
        tasks = [asyncio.ensure_future(each) for each in work]
        lives = [asyncio.ensure_future(replica.run()) for replica in self._replicas]
        for step in self._story.steps:
            await self._clock.sleep(step.pause)
            self._take(step)
        for replica in self._replicas:
            replica.weather.clear()
        await self._clock.sleep(QUIET_SECONDS)
        self._judge(lives)
        await cancelled(*lives, *tasks)
        faults = sum((replica.weather.struck for replica in self._replicas), Counter[str]())
        steps = len(self._story.steps)
        return Outcome(self._checker.violations, steps, faults, self._checker.binds)

    def _judge(self, lives: list[Any]) -> None:
        self._checker.quiet()
        for replica, life in zip(self._replicas, lives, strict=True):
            self._checker.violations += replica.failures
            if life.done():
                self._checker.violations.append(f"a replica broke: {life.exception()!r}")
            if replica.scheduler is not None:
                validate_cache(replica.scheduler.cache)
                replica.scheduler.queue.validate()

    def _take(self, step: Step) -> None:
        replica = self._replicas[step.target % len(self._replicas)]
        if step.kind in WINDOWS:
            replica.weather.begin(step.kind, step.seconds)
            return
        with contextlib.suppress(ApiError):  # what it was about is gone
            getattr(self, f"_{step.kind}")(step, replica)

    def _kill(self, step: Step, replica: Replica) -> None:
        replica.weather.struck["kill"] += 1
        replica.kill()

    def _tear(self, step: Step, replica: Replica) -> None:
        replica.weather.tears += 1

    def _expire(self, step: Step, replica: Replica) -> None:
        replica.weather.expirations += 1

    def _partial(self, step: Step, replica: Replica) -> None:
        replica.weather.partial = self._clock.now() + 4.0
        replica.kill()

    def _jump(self, step: Step, replica: Replica) -> None:
        """The machine slept: its steady clock went on."""
        replica.weather.struck["jump"] += 1
        replica.skew += 3.0

    def _pod(self, step: Step, _: Replica) -> None:
        cpu = ("500m", "1", "2")[step.target % 3]
        self._add(tell.pod(f"p{step.number}", cpu, {}))

    def _urgent(self, step: Step, _: Replica) -> None:
        self._add(tell.pod(f"u{step.number}", "2", {}, priority=10))

    def _apart(self, step: Step, _: Replica) -> None:
        self._add(tell.pod(f"a{step.number}", "500m", {"a": "a"}, affinity=tell.apart()))

    def _spread(self, step: Step, _: Replica) -> None:
        spread = tell.spread()
        self._add(tell.pod(f"s{step.number}", "500m", {"s": "s"}, topologySpreadConstraints=spread))

    def _gang(self, step: Step, _: Replica) -> None:
        name = f"g{step.number}"
        self._cluster.apply(tell.group(name, MEMBERS))
        for index in range(MEMBERS):
            label = {"scheduling.x-k8s.io/pod-group": name}
            self._add(tell.pod(f"{name}-{index}", "1", label))

    def _node(self, step: Step, _: Replica) -> None:
        self._cluster.add(NODES, tell.node(f"n{self._nodes}", "4"))
        self._nodes += 1

    def _delete(self, step: Step, _: Replica) -> None:
        pods = self._pods()
        if pods:
            chosen = pods[step.target % len(pods)]
            registry = self._cluster.registry
            deletion.delete_object(registry, PODS, chosen.namespace, chosen.name, "", None)

    def _end(self, step: Step, _: Replica) -> None:
        running = [pod for pod in self._pods() if pod.spec.node_name and not pod.is_terminating]
        if running:
            chosen = running[step.target % len(running)]
            self._kubelet.finish(chosen.namespace, chosen.name)

    def _add(self, raw: dict[str, Any]) -> None:
        self._cluster.add(PODS, raw)

    def _pods(self) -> list[Pod]:
        pods = (pod for pod in self._cluster.objects(PODS) if isinstance(pod, Pod))
        return sorted((pod for pod in pods if not pod.is_terminal), key=lambda pod: pod.name)
