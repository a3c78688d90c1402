"""Who is fed: every profile that decides, canaries too, and profiles beside the scheduler's."""

import asyncio
import random

from moorage.api.meta import ObjectMeta
from moorage.app import built_in_plugins, feed_builder
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.config.profile_canary import CanarySpec, ProfileCanary
from moorage.cycle.profile import Profile
from moorage.memory.memory_cluster import MemoryCluster
from moorage.policies.telemetry import node_measurements
from moorage.policies.telemetry.metric_sources import Source
from moorage.queue.backoff import Backoff
from moorage.rollout.canary import Canary
from moorage.rollout.rollback import Canaries
from moorage.scheduler.version import Version
from tests.unit.feeds.fakes import NOW, FakeReader, using
from tests.unit.feeds.scheduling import CONFIGURATION


def profile() -> Profile:
    known = built_in_plugins.installed()
    loaded = load(CONFIGURATION, known=built_in_plugins.describe_plugins(known)).configuration
    (made,) = build_profiles(loaded, known).values()
    return made


def test_every_profile_that_decides_is_fed() -> None:
    stable, canary, beside, stranger = (profile() for _ in range(4))
    clock = VirtualClock(NOW)
    cluster = MemoryCluster(clock=clock, rng=random.Random(0))

    async def story() -> None:
        profiles = {stable.scheduler_name: stable}
        scheduler = assemble(cluster, profiles, clock=clock, rng=random.Random(0))
        spec = CanarySpec(scheduler_name=stable.scheduler_name, percent=10.0)
        given = ProfileCanary(metadata=ObjectMeta(name="next"), spec=spec)
        canaries = {stable.scheduler_name: Canary(given, canary)}
        version = Version(2, "", profiles, Backoff(), features={Canaries: canaries})
        scheduler.install(version)
        canary.shared.pop(node_measurements.USAGE_STORE, None)
        reader = FakeReader(using("n1", 1.0))
        await feed_builder.build_feeds(scheduler, lambda source: reader, beside=(beside,)).prime()

    run_virtual(story(), clock)

    fed = [
        each
        for each in (stable, canary, beside, stranger)
        if node_measurements.USAGE_STORE in each.shared
    ]
    assert fed == [stable, canary, beside]


def test_feeds_begin_once_the_nodes_are_known() -> None:
    """Answers of Prometheus are told to nodes by address: without nodes there is nobody to tell."""
    clock = VirtualClock(NOW)
    cluster = MemoryCluster(clock=clock, rng=random.Random(0))
    made = profile()
    begun: list[bool] = []

    async def story() -> None:
        scheduler = assemble(
            cluster, {made.scheduler_name: made}, clock=clock, rng=random.Random(0)
        )

        def open(source: Source) -> FakeReader:
            begun.append(scheduler.synced)
            return FakeReader(using("n1", 1.0))

        feeding = asyncio.ensure_future(
            feed_builder.run_once_synced(scheduler, feed_builder.build_feeds(scheduler, open))
        )
        await clock.sleep(5.0)
        assert begun == []
        scheduling = asyncio.ensure_future(scheduler.run())
        await clock.sleep(5.0)
        for task in (feeding, scheduling):
            task.cancel()
        await asyncio.gather(feeding, scheduling, return_exceptions=True)

    run_virtual(story(), clock)

    assert begun == [True]
