"""A cluster with groups of pods, and a scheduler on it, in virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cache.consistency import validate_cache
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.framework.plugin import Plugin
from moorage.gang.feature import Gangs
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt, Evicted, Result
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import NodeBuilder, PodBuilder, pod
from moorage.watch.api_resources import EVENTS, PODS, RESOURCES

Raw = dict[str, Any]
POD_GROUPS = RESOURCES["podgroups"]


def group(name: str, members: int, **spec: Any) -> Raw:
    """A PodGroup of scheduler-plugins."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members, **spec},
    }


def annotated(raw: Raw, **annotations: str) -> Raw:
    given = {f"moorage.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {**raw, "metadata": {**raw["metadata"], "annotations": given}}


def member(name: str, of: str, cpu: str = "1") -> PodBuilder:
    return pod(name).labelled({POD_GROUP_LABEL: of}).requesting(cpu=cpu)


def members(of: str, count: int, cpu: str = "1") -> list[PodBuilder]:
    return [member(f"{of}-{index}", of, cpu) for index in range(count)]


def vips(count: int, cpu: str = "1", of: str = "vip", priority: int = 100) -> list[PodBuilder]:
    return [p.prioritised(priority) for p in members(of, count, cpu)]


def running(of: str, on: dict[str, int], priority: int = 0) -> list[PodBuilder]:
    """Pods of a group that run on nodes, so many on each."""
    places = [name for name, count in on.items() for _ in range(count)]
    return [
        member(f"{of}-{i}", of)
        .prioritised(priority)
        .on(place)
        .with_spec(terminationGracePeriodSeconds=0)
        for i, place in enumerate(places)
    ]


class GangWorld:
    """What a test sees: the cluster, the scheduler once it runs, and what was said.

    Pods that are deleted take `stopping` seconds to end, if their grace period allows.
    """

    scheduler: Scheduler

    def __init__(
        self,
        *objects: NodeBuilder | PodBuilder | Raw,
        plugins: tuple[type[Plugin], ...] = (),
        args: dict[str, Raw] | None = None,
        seed: int = 0,
        backoff: tuple[float, float] = (1.0, 10.0),
        cluster: type[MemoryCluster] = MemoryCluster,
        stopping: float = 0.0,
        enabled: dict[str, Raw] | None = None,
    ) -> None:
        self.clock = VirtualClock(1000.0)
        self.cluster = cluster(clock=self.clock, rng=random.Random(seed))
        self.kubelet = Kubelet(self.cluster)
        self.attempts: list[Attempt] = []
        self.failures: list[str] = []
        self.evictions: list[Evicted] = []
        self._seed, self._backoff, self._stopping = seed, backoff, stopping
        self.apply(*objects)
        known = built_in_plugins.built_in()
        for plugin in plugins:
            known.add(plugin)
        named = [{"name": plugin.plugin_name()} for plugin in plugins]
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {
                    "plugins": {"multiPoint": {"enabled": named}, **(enabled or {})},
                    "pluginConfig": [
                        {"name": name, "args": given} for name, given in (args or {}).items()
                    ],
                }
            ],
        }
        loaded = load(config, known=built_in_plugins.describe_plugins(known))
        self.profiles = build_profiles(loaded.configuration, known)
        self.profile = self.profiles["default-scheduler"]

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def evicted(self, evicted: Evicted) -> None:
        self.evictions.append(evicted)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.failures.append(f"{pod}: {error}")

    def apply(self, *objects: NodeBuilder | PodBuilder | Raw) -> None:
        for obj in objects:
            if isinstance(obj, dict):
                self.cluster.apply(obj)
            else:
                kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
                self.cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})

    def run(self, story: Callable[["GangWorld"], Awaitable[None]] | None = None) -> None:
        """Run the scheduler while the story unfolds; cache and queue are validated at the end."""

        async def main() -> None:
            await self.start()
            await (story or settle)(self)
            self.validate()
            await self.stop()

        run_virtual(main(), self.clock)

    async def start(self) -> None:
        """Let the scheduler and the kubelets run from now on."""
        self.scheduler = assemble(
            self.cluster,
            self.profiles,
            clock=self.clock,
            rng=random.Random(self._seed),
            observers=(self,),
            backoff=self._backoff,
        )
        self._running = asyncio.ensure_future(self.scheduler.run())
        self._kubelets = asyncio.ensure_future(self.kubelet.serve(self._stopping))

    async def stop(self) -> None:
        """End them; if the scheduler has ended by itself, that is an error."""
        if self._running.done():
            self._running.result()
        for task in (self._running, self._kubelets):
            task.cancel()
        await asyncio.gather(self._running, self._kubelets, return_exceptions=True)

    def validate(self) -> None:
        validate_cache(self.scheduler.cache)
        self.scheduler.queue.validate()
        self.scheduler.feature(Gangs).groups.validate()

    def bound(self, prefix: str = "") -> dict[str, str]:
        """The pods on nodes whose names begin like this, and where they are."""
        pods = (found for found in self.cluster.objects(PODS) if isinstance(found, Pod))
        return {
            found.name: found.spec.node_name
            for found in pods
            if found.spec.node_name and found.name.startswith(prefix) and not found.is_terminal
        }

    def condition(self, name: str) -> Raw:
        conditions = self.cluster.read(PODS, "default", name)["status"].get("conditions", [])
        found: Raw = next((c for c in conditions if c["type"] == "PodScheduled"), {})
        return found

    def status(self, name: str) -> Raw:
        found: Raw = self.cluster.read(POD_GROUPS, "default", name).get("status", {})
        return found

    def events(self, about: str, reason: str = "") -> list[str]:
        found = (
            self.cluster.read(EVENTS, e.namespace, e.name) for e in self.cluster.objects(EVENTS)
        )
        return [
            event["note"]
            for event in found
            if event["regarding"]["name"] == about and reason in ("", event["reason"])
        ]

    def results(self, result: Result) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.result is result]

    async def finish(self, prefix: str) -> None:
        """End every running pod whose name begins like this."""
        for name in self.bound(prefix):
            await self.cluster.delete(PODS, "default", name, grace_period_seconds=0)


async def settle(world: GangWorld, seconds: float = 30.0) -> None:
    await world.clock.sleep(seconds)
