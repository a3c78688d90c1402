"""Run the scheduler on an embedded cluster until nothing is left to do."""

import asyncio
import random
from collections.abc import Iterable, Mapping

import msgspec

from moorage.api.pod import Pod
from moorage.app import feed_builder
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.field_errors import InputError
from moorage.config.moorage_configuration import DEFAULT_GUARD, PluginGuard
from moorage.config.types import Extender, SchedulerConfiguration
from moorage.extender import extender_builder
from moorage.extender.async_bridge import BlockingBridge
from moorage.feeds.feeds import Feeds
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.plugin import Plugin
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt, Result
from moorage.scheduler.scheduler import Scheduler
from moorage.simulate import simulated_feeds
from moorage.simulate.manifest_files import Manifest
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import PODS

START = 1_767_225_600.0
"""Virtual time begins with the year 2026."""

_SETTLED_SECONDS = 12.0
"""Longer than the longest back-off: who has not come back by then waits for an event."""

_PATIENCE = 10
"""How many such spans attempts may fail before nobody waits for them to succeed any more."""


class Simulation:
    """A finished run: the cluster as it ended, and the last attempt at each pod."""

    def __init__(self, cluster: MemoryCluster, scheduler: Scheduler, story: "AttemptLog") -> None:
        self.cluster = cluster
        self.scheduler = scheduler
        self.story = story


def _outcome(attempt: Attempt) -> tuple[Result, str, str]:
    return attempt.result, attempt.message, attempt.nominated


class AttemptLog:
    """An observer that keeps the last attempt at each pod, and every error.

    `decided` counts the attempts that came to something new.
    """

    def __init__(self) -> None:
        self.last: dict[str, Attempt] = {}
        self.errors: list[str] = []
        self.attempts = 0
        self.decided = 0

    def attempted(self, attempt: Attempt) -> None:
        self.attempts += 1
        before, self.last[attempt.uid] = self.last.get(attempt.uid), attempt
        if attempt.result is Result.ERROR:
            self.errors.append(f"{attempt.pod}: {attempt.message}")
        elif before is None or _outcome(before) != _outcome(attempt):
            self.decided += 1

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """An extender was asked."""

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.errors.append(f"{pod}: {error}")


def load_cluster(
    manifests: Iterable[Manifest], clock: VirtualClock, rng: random.Random
) -> MemoryCluster:
    """An embedded cluster that holds the objects; every one that is refused is reported."""
    cluster = MemoryCluster(clock=clock, rng=rng)
    problems = []
    for manifest in manifests:
        try:
            cluster.apply(manifest.raw)
        except ApiError as error:
            problems.append(f"{manifest.place}: {error}")
    if problems:
        raise InputError(problems)
    return cluster


def simulate(
    manifests: Iterable[Manifest],
    configuration: SchedulerConfiguration,
    known: Mapping[str, type[Plugin]],
    seed: int = 0,
    guard: PluginGuard = DEFAULT_GUARD,
) -> Simulation:
    """Schedule everything that can be scheduled."""
    rng = random.Random(seed)
    clock = VirtualClock(START)
    objects, measured = simulated_feeds.split_measurements(manifests)
    cluster = load_cluster(objects, clock, rng)
    profiles = build_profiles(configuration, known, guard)
    backoff = (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds)

    asking = BlockingBridge()
    extenders = extender_builder.build_extenders(_that_do_not_bind(configuration.extenders), asking)

    async def main() -> Simulation:
        story = AttemptLog()
        if extenders is not None:
            extenders.hears = story
        scheduler = Scheduler(
            cluster,
            profiles,
            clock=clock,
            rng=rng,
            observers=(story,),
            backoff=(float(backoff[0]), float(backoff[1])),
            extenders=NO_EXTENDERS if extenders is None else extenders,
        )
        feeds = feed_builder.build_feeds(
            scheduler, simulated_feeds.manifest_readers(measured, cluster, clock)
        )
        await feeds.prime()
        await _until_settled(cluster, scheduler, clock, feeds, story)
        return Simulation(cluster, scheduler, story)

    try:
        return run_virtual(main(), clock)
    finally:
        if extenders is not None:
            asking.ask(extenders.close)
        asking.close()


def _that_do_not_bind(extenders: Iterable[Extender]) -> tuple[Extender, ...]:
    """Extenders with a say, but no hand in it: one that binds would do so in a real cluster."""
    return tuple(msgspec.structs.replace(extender, bind_verb="") for extender in extenders)


async def _until_settled(
    cluster: MemoryCluster,
    scheduler: Scheduler,
    clock: VirtualClock,
    feeds: Feeds,
    story: AttemptLog,
) -> None:
    """Let time pass until no attempt was made for longer than any back-off lasts.

    Attempts that only ever fail, as with a broken plugin, or come to the same again and again, as
    with victims that may not be evicted, are watched for a while, and then given up: they would go
    on for ever.
    """
    running = asyncio.ensure_future(scheduler.run())
    beside = [asyncio.ensure_future(Kubelet(cluster).serve()), asyncio.ensure_future(feeds.run())]
    seen, patience = -1, _PATIENCE
    while not running.done() and (seen != scheduler.attempts or _is_busy(cluster, scheduler)):
        seen, decided = scheduler.attempts, story.decided
        await clock.sleep(_SETTLED_SECONDS)
        in_vain = scheduler.attempts != seen and story.decided == decided
        patience = patience - 1 if in_vain else _PATIENCE
        if not patience:
            break
    if running.done():
        running.result()
    for task in (running, *beside):
        task.cancel()
    await asyncio.gather(running, *beside, return_exceptions=True)


def _is_busy(cluster: MemoryCluster, scheduler: Scheduler) -> bool:
    """Whether pods are being bound, or victims are still leaving."""
    leaving = (pod for pod in cluster.objects(PODS) if isinstance(pod, Pod) and pod.is_terminating)
    return scheduler.binding > 0 or next(leaving, None) is not None


def pods_of(simulation: Simulation) -> list[Pod]:
    """Every pod of the cluster as it ended."""
    return [pod for pod in simulation.cluster.objects(PODS) if isinstance(pod, Pod)]
