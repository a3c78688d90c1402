"""One shadow: it follows a cluster, never writes to it, and collects its findings."""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from moorage.api.pod import Pod
from moorage.app import feed_builder
from moorage.app.profile_builder import build_profiles
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.kpi.meter import Meter
from moorage.kpi.settings import KpiSettings
from moorage.scheduler.attempt import TapOf
from moorage.scheduler.feature import Feature
from moorage.scheduler.ports import Ports
from moorage.scheduler.scheduler import Scheduler
from moorage.shadow.cluster_meter import ClusterMeter
from moorage.shadow.drifting_world import DriftingWorld
from moorage.shadow.judgement import Judgement
from moorage.shadow.pod_facts import MeterBook
from moorage.shadow.summary import Findings, findings
from moorage.shadow.tally import Tally
from moorage.shadow.unseen import Unseen
from moorage.shadow.watcher import Watcher
from moorage.simulate.candidate import Candidate
from moorage.simulate.simulated_server import SilentRecorder
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Change, Reflector

LOOK_SECONDS: Final = 0.5
CLUSTER: Final = "cluster"
"""The name of the true world; other worlds have the names of their configurations."""

Told = Callable[[Judgement], None]


class WaitingPods(Feature):
    """Shows a tap the pending pods of other schedulers, which are never in our queue."""

    hears = ("pods",)

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def before(self, change: Change, resource: Resource) -> None:
        pod = change.new
        if isinstance(pod, Pod) and not pod.spec.node_name and not pod.is_terminal:
            self._cache.info(pod)


class Shadow:
    """Follows one cluster, and judges its decisions by several configurations.

    `told` is called with every judgement. Without `drifts` there are only one-step judgements. A
    tap sees every change of the cache.
    """

    def __init__(
        self,
        server: ApiServer,
        candidates: Sequence[Candidate],
        clock: Clock,
        *,
        drifts: bool = True,
        told: Iterable[Told] = (),
        seed: int = 0,
        tap_of: TapOf | None = None,
        observers: Iterable[Any] = (),
    ) -> None:
        self._clock = clock
        self.told = list(told)
        self.began = clock.now()
        self.begun = asyncio.Event()
        """Set once the cluster has been read, and decisions are judged."""
        self.tallies = {each.name: Tally(each.name) for each in candidates}
        self.unseen = Unseen()
        self.cluster = Meter(KpiSettings(), self.began)
        self.worlds: dict[str, DriftingWorld] = {}
        if drifts:
            self.worlds = {
                each.name: DriftingWorld(clock, _profiles(each), self._book(), seed)
                for each in candidates
            }
        self._judging = {each.name: _profiles(each) for each in candidates}
        self._tapped = None if tap_of is None else tap_of(clock.now)
        self.scheduler = Scheduler(
            server,
            {f"{name}/{own}": each for name, own, each in self._named()},
            clock=clock,
            rng=random.Random(seed),
            features=self._features,
            recorder=SilentRecorder(server, clock, instance="shadow"),
            tap=self._tapped,
            observers=observers,
        )
        self.scheduler.active.clear()

    @property
    def meters(self) -> Mapping[str, Meter]:
        """The KPIs of every world, by name."""
        drifting = {name: world.book.meter for name, world in self.worlds.items()}
        return {CLUSTER: self.cluster, **drifting}

    async def run(self) -> None:
        """Follow the cluster; never returns."""
        feeds = feed_builder.build_feeds(self.scheduler)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.scheduler.run(), name="shadow/follow")
            tasks.create_task(feed_builder.run_once_synced(self.scheduler, feeds))
            for name, world in self.worlds.items():
                tasks.create_task(world.scheduler.run(), name=f"shadow/drift/{name}")
            await self._until_synced()
            for world in self.worlds.values():
                world.begin()
            while True:
                self.unseen.look(self.reflectors(), self._clock.now())
                await self._clock.sleep(LOOK_SECONDS)

    def reflectors(self) -> list[Reflector]:
        """The reflectors that must be watching for the cluster to be seen."""
        scheduler = self.scheduler
        return [*scheduler.reflectors.values(), *scheduler.optional_reflectors]

    def findings(self) -> Findings:
        """The findings; this ends all measurements."""
        now = self._clock.now()
        errors = {name: world.errors for name, world in self.worlds.items()}
        return findings(self.began, now, self.tallies, self.unseen, self.meters, errors)

    async def _until_synced(self) -> None:
        while not self._is_seen():
            await self._clock.sleep(LOOK_SECONDS / 10)
        self.began = self._clock.now()
        self._watcher.begun = True
        self.begun.set()

    def _is_seen(self) -> bool:
        watching = all(each.state == "watching" for each in self.reflectors())
        return self.scheduler.synced and watching

    def _features(self, ports: Ports) -> list[Feature]:
        self._watcher = Watcher(
            ports.cache,
            self._clock,
            self._judging,
            self.tallies,
            self.unseen,
            self.reflectors,
            self._tell,
        )
        meter = ClusterMeter(self._clock, MeterBook(self.cluster))
        waiting = [] if self._tapped is None else [WaitingPods(ports.cache)]
        return [self._watcher, meter, *waiting, *self.worlds.values()]

    def _tell(self, judged: Judgement) -> None:
        for told in self.told:
            told(judged)

    def _book(self) -> MeterBook:
        return MeterBook(Meter(KpiSettings(), self.began))

    def _named(self) -> list[tuple[str, str, Profile]]:
        """Every profile, under a name that no pod has, so that it schedules nothing."""
        return [
            (f"moorage-shadow/{name}", own, profile)
            for name, profiles in self._judging.items()
            for own, profile in profiles.items()
        ]


def _profiles(candidate: Candidate) -> dict[str, Profile]:
    loaded = candidate.load()
    return build_profiles(loaded.configuration, candidate.plugins(), loaded.moorage.plugin_guard)
