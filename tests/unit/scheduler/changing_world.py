"""A cluster and a scheduler whose configuration changes while it runs, in virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import yaml

from moorage.app import built_in_plugins, config_bundle
from moorage.app.assembly import assemble
from moorage.app.config_text import ConfigText
from moorage.app.profile_builder import build_profiles, build_version
from moorage.cache.consistency import validate_cache
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.framework.plugin import Plugin
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt, Bound, RolledBack
from moorage.queue.backoff import Backoff
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import NodeBuilder, PodBuilder
from moorage.watch.api_resources import EVENTS, PODS

Raw = dict[str, Any]
Objects = NodeBuilder | PodBuilder | Raw


def profile(name: str = "default-scheduler", *plugins: str, **args: Raw) -> Raw:
    """A profile that runs these plugins beside the default ones."""
    return {
        "schedulerName": name,
        "plugins": {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}},
        "pluginConfig": [{"name": plugin, "args": given} for plugin, given in args.items()],
    }


def configuration(*profiles: Raw, **settings: Any) -> Raw:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
        **settings,
    }


class ChangingWorld:
    """What a test sees: the cluster, the scheduler, and what was decided."""

    cluster_type: type[MemoryCluster] = MemoryCluster

    def __init__(
        self, *objects: Objects, config: Raw, plugins: Iterable[type[Plugin]] = ()
    ) -> None:
        self.clock = VirtualClock(1000.0)
        self.cluster = self.cluster_type(clock=self.clock, rng=random.Random(1))
        self.known = built_in_plugins.built_in()
        for plugin in plugins:
            self.known.add(plugin)
        self._config = config
        self.attempts: list[Attempt] = []
        self.bindings: list[Bound] = []
        self.rollbacks: list[RolledBack] = []
        self.failures: list[str] = []
        self.scheduler: Scheduler
        self.apply(*objects)

    def apply(self, *objects: Objects) -> None:
        for obj in objects:
            if isinstance(obj, dict):
                self.cluster.apply(obj)
            else:
                kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
                self.cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def bound(self, bound: Bound) -> None:
        self.bindings.append(bound)

    def rolled_back(self, rolled_back: RolledBack) -> None:
        self.rollbacks.append(rolled_back)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.failures.append(f"{pod}: {error}")

    def change(self, config: Raw, *canaries: Raw) -> frozenset[str]:
        """Put another configuration in force."""
        documents = [config, *canaries]
        text = ConfigText("test", yaml.safe_dump_all(documents).encode())
        found = config_bundle.load_bundle([text], self.known)
        generation = self.scheduler.in_force.generation + 1
        made = build_version(found, self.known, generation, f"digest-{generation}")
        return self.scheduler.install(made)

    def told(self, level: int, sentence: str) -> None:
        """Something was said of schedulers that are stood in for."""

    def prepare(self) -> None:
        """What is to be done before the scheduler runs."""

    def run(self, story: Callable[["ChangingWorld"], Awaitable[None]]) -> "ChangingWorld":
        """Run the scheduler while the story unfolds."""

        async def main() -> None:
            loaded = load(
                self._config, known=built_in_plugins.describe_plugins(self.known)
            ).configuration
            backoff = Backoff(
                float(loaded.pod_initial_backoff_seconds), float(loaded.pod_max_backoff_seconds)
            )
            self.scheduler = assemble(
                self.cluster,
                build_profiles(loaded, self.known),
                clock=self.clock,
                rng=random.Random(0),
                observers=(self,),
                backoff=(backoff.initial, backoff.maximum),
                told=self.told,
            )
            self.prepare()
            running = asyncio.ensure_future(self.scheduler.run())
            await story(self)
            validate_cache(self.scheduler.cache)
            self.scheduler.queue.validate()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        run_virtual(main(), self.clock)
        return self

    def node_of(self, name: str) -> str | None:
        node: str | None = self.cluster.read(PODS, "default", name)["spec"].get("nodeName")
        return node

    def events(self, reason: str) -> list[Raw]:
        found = (
            self.cluster.read(EVENTS, e.namespace, e.name) for e in self.cluster.objects(EVENTS)
        )
        return [event for event in found if event["reason"] == reason]
