"""The clusters that explanations are about: a finished simulation, or a cluster as it stands."""

import asyncio
import difflib
import random
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.api.pod import Pod
from moorage.app import feed_builder
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.field_errors import InputError
from moorage.config.loader import Loaded
from moorage.explain import queue_state
from moorage.explain.explanation import Explanation, explain, explain_gang
from moorage.explain.gang_changes import Gang
from moorage.explain.world import World
from moorage.framework.plugin import Plugin
from moorage.gang import topology
from moorage.gang.feature import Gangs
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.scheduler import Scheduler
from moorage.simulate import simulated_feeds
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import Simulation, load_cluster, pods_in
from moorage.watch.api_resources import PODS


def full_name(key: str, namespace: str = "") -> str:
    """`namespace/name` of a pod given as `pod/name`, `name` or `namespace/name`."""
    wanted = key.removeprefix("pod/").removeprefix("pods/")
    return wanted if "/" in wanted else f"{namespace or 'default'}/{wanted}"


class Source(NamedTuple):
    """A cluster to ask about, with its raw pods.

    `by_age` says that nothing was scheduled here: pods have waited since they were created.
    `errors` are the errors of scheduling the pods.
    """

    world: World
    cluster: MemoryCluster
    scheduler: Scheduler
    by_age: bool = False
    errors: tuple[str, ...] = ()

    def pod(self, key: str, namespace: str = "") -> Pod:
        """The pod named `namespace/name`, or `name` in a namespace, the default one without."""
        wanted = full_name(key, namespace)
        known = {pod.key: pod for pod in pods_in(self.cluster)}
        if wanted in known:
            return known[wanted]
        near = difflib.get_close_matches(wanted, known, 3, 0.5) or sorted(known)[:3]
        hint = f"; there is {', '.join(near)}" if near else "; there are no pods at all"
        raise InputError([f"no pod {wanted} in what was read{hint}"])

    def raw(self, pod: Pod) -> dict[str, Any]:
        """The raw pod."""
        return self.cluster.read(PODS, pod.namespace, pod.name)

    def gang(self, pod: Pod) -> Gang | None:
        """The gang of a pending pod, if it must start with others, and all of these exist."""
        group = self.scheduler.feature(Gangs).groups.of(pod)
        if group is None or group.tree or group.is_incomplete or group.is_replacing:
            return None
        needed = group.minimum - group.scheduled(self.world.cache.assumed)
        if needed < 2 or pod.spec.node_name:
            return None
        raws = [self.raw(each) for each in group.waiting.values()]
        occupied = tuple(each.spec.node_name for each in group.placed.values())
        return Gang(group.key, raws, needed, topology.wanted_packing(group.object), occupied)

    def explain(self, key: str, namespace: str = "", node: str = "") -> Explanation:
        """Explain one pod; by its gang, if that keeps it pending.

        `node` is the node that was chosen for a pod that is not bound yet.
        """
        found = self.pod(key, namespace)
        raw, node = self.raw(found), found.spec.node_name or node
        reasons = [] if node else self.waits_for(found)
        place = None if node else self.place_in_queue(found)
        gang = None if node else self.gang(found)
        whole = None if gang is None else explain_gang(self.world, raw, gang, waits_for=reasons)
        if whole is not None:
            return msgspec.structs.replace(whole, queue_place=place)
        return explain(self.world, raw, node=node, waits_for=reasons, queue_place=place)

    def waits_for(self, pod: Pod) -> list[str]:
        """What the pod waits for besides a node."""
        scheduler = self.scheduler
        return queue_state.waits_for(scheduler.queue, scheduler.cache, pod, self.world.now)

    def place_in_queue(self, pod: Pod) -> tuple[int, int] | None:
        """The pod's place among the waiting pods, and their number."""
        return queue_state.place_in_queue(self.scheduler.queue, pod, by_age=self.by_age)


def from_simulation(simulation: Simulation) -> Source:
    """The cluster as a simulation left it."""
    source = _source(simulation.cluster, simulation.scheduler)
    return source._replace(errors=tuple(simulation.errors))


def as_it_stands(
    manifests: Iterable[Manifest],
    loaded: Loaded,
    known: Mapping[str, type[Plugin]],
    now: float,
    *,
    validate: bool = False,
    warnings: list[str] | None = None,
) -> Source:
    """The cluster of some manifests: all objects are in the cache, and nothing is attempted.

    `validate` and `warnings` are as for `load_cluster`.
    """
    clock = VirtualClock(now)
    objects, measured = simulated_feeds.split_measurements(manifests)
    rng = random.Random(0)
    cluster = load_cluster(
        objects, clock, rng, validate=validate, admission=False, warnings=warnings
    )
    profiles = build_profiles(loaded.configuration, known, loaded.moorage.plugin_guard)

    async def main() -> Scheduler:
        scheduler = assemble(cluster, profiles, clock=clock, rng=random.Random(0))
        scheduler.active.clear()
        readers = simulated_feeds.manifest_readers(measured, cluster, clock)
        await feed_builder.build_feeds(scheduler, readers).prime()
        running = asyncio.ensure_future(scheduler.run())
        while not (scheduler.synced or running.done()):
            await clock.sleep(0.001)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return scheduler

    return _source(cluster, run_virtual(main(), clock))._replace(by_age=True)


def _source(cluster: MemoryCluster, scheduler: Scheduler) -> Source:
    now = cluster.clock.now()
    world = World(scheduler.cache, scheduler.profiles, now)
    return Source(world, cluster, scheduler)
