"""Run the scheduler on an embedded cluster until nothing is left to do."""

import asyncio
import random
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from moorage.api.pod import Pod
from moorage.app import feed_builder
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.batching.quick_decisions import QuickDecisions
from moorage.clock import VirtualClock, run_virtual
from moorage.config.field_errors import InputError
from moorage.config.moorage_configuration import DEFAULT_GUARD, PluginGuard
from moorage.config.types import Extender, SchedulerConfiguration
from moorage.extender.async_bridge import BlockingBridge
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.plugin import Plugin
from moorage.memory import manifest_loader
from moorage.memory.controllers.standard_controllers import standard_controllers
from moorage.memory.kubelet import Kubelet
from moorage.memory.limitations import limitation_notes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.observe.records import Attempt
from moorage.scheduler.attempt import Tap, TapOf
from moorage.scheduler.scheduler import Scheduler
from moorage.simulate import simulated_feeds
from moorage.simulate.attempt_log import AttemptLog
from moorage.simulate.evictions import Eviction, EvictionLog, UnplacedRecorder
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.plugin_failures import quiet_failures
from moorage.simulate.run_limits import DEFAULT_LIMITS, SETTLED_SECONDS, RunLimits, RunWatch
from moorage.simulate.skipped_extenders import SkippedExtenders
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import PODS

if TYPE_CHECKING:
    from moorage.extender.http_extenders import HttpExtenders

START = 1_767_225_600.0
"""Virtual time begins with the year 2026."""


class Progress(Protocol):
    """Is told of the progress of a run."""

    def begin(self, pods: int) -> None:
        """So many pods wait to be scheduled."""

    def attempted(self, attempt: Attempt) -> None:
        """An attempt at a pod ended."""


class Simulation(NamedTuple):
    """A finished run: the cluster at its end, the log of attempts, and the evictions.

    `notes` list what the simulation leaves out, `warnings` what is odd about the manifests. If the
    run was given up with work left to do, `gave_up` says why.
    """

    cluster: MemoryCluster
    scheduler: Scheduler
    story: AttemptLog
    evictions: tuple[Eviction, ...] = ()
    refused: dict[tuple[str, str], int] = {}  # noqa: RUF012 (never changed)
    """What controllers could not create: the count by owner and reason."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    gave_up: str = ""

    @property
    def errors(self) -> list[str]:
        """The errors of attempts, and the plugin failures that are the error of no attempt."""
        said = self.story.errors
        return [*said, *quiet_failures(self.scheduler.profiles.values(), said)]


def load_cluster(
    manifests: Iterable[Manifest],
    clock: VirtualClock,
    rng: random.Random,
    *,
    validate: bool = False,
    admission: bool = True,
    warnings: list[str] | None = None,
) -> MemoryCluster:
    """An embedded cluster with the objects; raises an InputError that lists every refused one.

    Each kind is loaded after the kinds it refers to, whatever the order of the files. `warnings`
    gets the warnings about objects that were accepted, each with its place.
    """
    options = ClusterOptions(validate=validate, admission=admission)
    cluster = MemoryCluster(clock=clock, rng=rng, options=options)
    problems = []
    ranked: list[tuple[int, Manifest]] = []
    for manifest in manifests:
        try:
            ranked.append((_rank(manifest), manifest))
        except ApiError as error:
            problems.append(f"{manifest.place}: {error}")
    cluster.keep_uids(manifest.raw for _, manifest in ranked)
    for _, manifest in sorted(ranked, key=itemgetter(0)):
        try:
            cluster.apply(manifest.raw)
        except ApiError as error:
            problems.append(f"{manifest.place}: {error}")
        if warnings is not None:
            warnings.extend(f"{manifest.place}: {each}" for each in cluster.warnings)
        cluster.warnings.clear()
    if problems:
        raise InputError(problems)
    return cluster


def _rank(manifest: Manifest) -> int:
    return manifest_loader.load_rank(manifest_loader.resource_of(manifest.raw))


def simulate(
    manifests: Iterable[Manifest],
    configuration: SchedulerConfiguration,
    known: Mapping[str, type[Plugin]],
    seed: int = 0,
    guard: PluginGuard = DEFAULT_GUARD,
    limits: RunLimits = DEFAULT_LIMITS,
    validate: bool = False,
    progress: Progress | None = None,
    observers: Sequence[Any] = (),
    tap_of: TapOf | None = None,
) -> Simulation:
    """Schedule everything that can be scheduled.

    With `validate`, objects that an API server would refuse are refused; otherwise they are taken
    as far as they make sense. `progress` and `observers` are called for every attempt. A tap sees
    every change that the cache takes in, and every decision.
    """
    warnings: list[str] = []
    rng = random.Random(seed)
    names = random.Random(f"names {seed}")
    clock = VirtualClock(START)
    objects, measured = simulated_feeds.split_measurements(manifests)
    cluster = load_cluster(objects, clock, names, validate=validate, warnings=warnings)
    manager, client = standard_controllers(cluster)
    manager.settle()
    profiles = build_profiles(configuration, known, guard)
    backoff = (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds)

    if progress is not None:
        progress.begin(sum(not pod.spec.node_name for pod in pods_in(cluster)))
    asking = BlockingBridge()
    story = AttemptLog(restless=limits.attempts_in_vain * (len(pods_in(cluster)) + 10))
    skipped = SkippedExtenders()
    extenders = _http_extenders(configuration.extenders, asking, skipped)

    async def main() -> Simulation:
        scheduler = assemble(
            cluster,
            profiles,
            clock=clock,
            rng=rng,
            observers=(*observers, story) if progress is None else (*observers, story, progress),
            backoff=(float(backoff[0]), float(backoff[1])),
            extenders=NO_EXTENDERS if extenders is None else extenders,
            recorder=UnplacedRecorder(cluster, clock, instance="simulation"),
            tap=_tap(clock, observers, tap_of),
        )
        feeds = feed_builder.build_feeds(
            scheduler, simulated_feeds.manifest_readers(measured, cluster, clock)
        )
        await feeds.prime()
        evictions = EvictionLog(cluster)
        beside = (Kubelet(cluster).serve(), manager.run(), feeds.run(), evictions.run())
        gave_up = await _until_settled(cluster, scheduler, beside, story, evictions, limits)
        return Simulation(
            cluster,
            scheduler,
            story,
            evictions.evictions(),
            dict(client.refused),
            limitation_notes(cluster),
            (*warnings, *skipped.warnings),
            gave_up,
        )

    try:
        return run_virtual(main(), clock)
    finally:
        if extenders is not None:
            asking.ask(extenders.close)
        asking.close()


def _tap(clock: VirtualClock, observers: Sequence[Any], tap_of: TapOf | None) -> Tap | None:
    """The tap of the run; quick decisions, if nothing needs more of a decision than its node."""
    if tap_of is not None:
        return tap_of(clock.now)
    return None if observers else QuickDecisions(clock.now)


def _http_extenders(
    configured: Sequence[Extender], asking: BlockingBridge, skipped: SkippedExtenders
) -> "HttpExtenders | None":
    """The extenders to ask, or None; imported lazily, because few configurations need HTTP."""
    if not configured:
        return None
    from moorage.extender.http_extenders import build_extenders

    return build_extenders(_that_do_not_bind(configured), asking, skipped)


def _that_do_not_bind(extenders: Iterable[Extender]) -> tuple[Extender, ...]:
    """The extenders without their bind verb: binding through one would act on a real cluster."""
    return tuple(msgspec.structs.replace(extender, bind_verb="") for extender in extenders)


async def _until_settled(
    cluster: MemoryCluster,
    scheduler: Scheduler,
    beside: Iterable[Coroutine[Any, Any, None]],
    story: AttemptLog,
    evictions: EvictionLog,
    limits: RunLimits,
) -> str:
    """Let time pass until no attempt was made for longer than any back-off lasts.

    Attempts that fail for ever, as with a broken plugin, are given up after `limits`. Returns why
    the run was given up, or an empty text.
    """
    running = asyncio.ensure_future(scheduler.run())
    others = [asyncio.ensure_future(work) for work in beside]
    watch, seen, gave_up = RunWatch(limits), -1, ""
    while not running.done() and (seen != scheduler.attempts or _is_busy(cluster, scheduler)):
        seen = scheduler.attempts
        await story.look_again(cluster.clock, SETTLED_SECONDS)
        pods = pods_in(cluster)
        gave_up = watch.verdict(
            attempts=scheduler.attempts,
            progress=story.progress + evictions.count,
            pods=len(pods),
            pending=sum(not pod.spec.node_name for pod in pods),
            now=cluster.clock.now(),
            binding_for=story.longest_binding(cluster.clock.now()),
        )
        if gave_up:
            break
    if running.done():
        running.result()
    for task in (running, *others):
        task.cancel()
    await asyncio.gather(running, *others, return_exceptions=True)
    _forget_unbound(cluster, scheduler)
    return gave_up


def _forget_unbound(cluster: MemoryCluster, scheduler: Scheduler) -> None:
    """Forget assumed pods whose binding had not ended with the run: they are on no node."""
    cache = scheduler.cache
    for pod in pods_in(cluster):
        held = cache.pod(pod.uid) if pod.uid in cache.assumed else None
        if held is not None and not pod.spec.node_name:
            cache.forget(held)


def _is_busy(cluster: MemoryCluster, scheduler: Scheduler) -> bool:
    """Whether pods are being bound or terminate; those with finalizers would stay for ever."""
    entries = cluster.registry.store.table(PODS).entries.values()
    found = (entry.raw["metadata"] for entry in entries)
    leaving = (each.get("deletionTimestamp") and not each.get("finalizers") for each in found)
    return scheduler.binding > 0 or any(leaving)


def pods_in(cluster: MemoryCluster) -> list[Pod]:
    """Every pod of a cluster."""
    return [pod for pod in cluster.objects(PODS) if isinstance(pod, Pod)]


def pods_of(simulation: Simulation) -> list[Pod]:
    """Every pod of the cluster at the end of the run."""
    return pods_in(simulation.cluster)
