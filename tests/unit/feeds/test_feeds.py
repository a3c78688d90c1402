"""Feeds begin with the plugins that want them, go on when they fail, and end with the last."""

import asyncio
import io
from collections.abc import Coroutine
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from moorage.clock import run_virtual
from moorage.feeds.feeds import LOOK_SECONDS
from moorage.feeds.readings import FeedError, Prices
from moorage.framework.points import Score
from moorage.observe import logs
from moorage.policies.business.price_list import INSTANCE_TYPE_LABEL
from moorage.policies.business.price_table import parse_prices
from moorage.policies.energy_aware import EnergyAware
from moorage.policies.load.low_cpu import CPU_TOO_HIGH, LowCpuScheduler
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.telemetry import node_measurements
from moorage.policies.telemetry.metric_sources import (
    EnergyProvider,
    LatencyConfigMap,
    LatencyFile,
    PriceFile,
    Source,
    UsageProvider,
    UsageSource,
)
from moorage.policies.telemetry.node_measurements import Energy, Usage
from moorage.testing import Cluster, node, pod
from tests.unit.feeds.fakes import NOW, FakeReader, Fed, using
from tests.unit.feeds.scheduling import scheduled_after
from tests.unit.policies.asking import refusals

LOW = LowCpuScheduler()
INTERVAL = LOW.metric_provider.interval.seconds


def fed(seconds: float, world: Fed, *during: Coroutine[Any, Any, None]) -> None:
    """Let feeds run for a while."""

    async def main() -> None:
        tasks = [asyncio.ensure_future(each) for each in (world.feeds.run(), *during)]
        await world.clock.sleep(seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtual(main(), world.clock)


def cluster(*plugins: Any) -> Cluster:
    return Cluster(node("n1"), plugins=plugins or [LOW], alone=True)


def known(cluster: Cluster, name: str = "n1") -> list[float]:
    """Cpu and time of the last measurement."""
    table = cluster.cache.table
    row = table.row_of[name]
    found = node_measurements.usage_store(cluster.profile.shared).columns(table)[:, row]
    return [float(found[0]), float(found[2])]


def test_what_is_read_reaches_the_plugin() -> None:
    world = Fed(cluster(), usage=FakeReader(using("n1", 3.9)))

    fed(1, world)

    assert known(world.clusters[0]) == [3900.0, NOW]
    assert refusals(world.clusters[0], pod("p"), NOW) == {"n1": CPU_TOO_HIGH}


def test_it_is_read_again_every_interval() -> None:
    says = FakeReader(using("n1", 1), using("n1", 2, NOW + INTERVAL), using("n1", 3))
    world = Fed(cluster(), usage=says)

    fed(INTERVAL + 1, world)

    assert known(world.clusters[0]) == [2000.0, NOW + INTERVAL]


def test_profiles_that_want_the_same_share_one_feed() -> None:
    world = Fed(cluster(), cluster(), usage=FakeReader(using("n1", 1)))

    fed(1, world)

    assert len(world.opened) == 1
    assert known(world.clusters[0]) == known(world.clusters[1]) == [1000.0, NOW]


def test_a_profile_that_comes_later_is_given_what_is_known() -> None:
    """As after a reload: the new profile has a store of its own."""
    world = Fed(cluster(), usage=FakeReader(using("n1", 1)))

    async def reload() -> None:
        await world.clock.sleep(2)
        world.clusters[:] = [cluster()]

    fed(3 + LOOK_SECONDS, world, reload())

    assert known(world.clusters[0]) == [1000.0, NOW]
    assert len(world.opened) == 1


def test_a_feed_ends_with_the_last_plugin_that_wants_it() -> None:
    says = FakeReader(using("n1", 1))
    world = Fed(cluster(), usage=says)
    left: list[Source] = []

    async def reload() -> None:
        await world.clock.sleep(2)
        world.clusters[:] = [cluster(LowCpuScheduler(metric_provider=UsageProvider(type="None")))]
        await world.clock.sleep(2)
        left.extend(world.feeds.feeds)

    fed(5, world, reload())

    assert says.closed
    assert left == []


def test_pods_are_tried_again_when_something_new_was_measured_and_only_then() -> None:
    says = FakeReader(using("n1", 1), using("n1", 1, NOW + 15), using("n1", 2, NOW + 30))
    world = Fed(cluster(), usage=says)

    fed(5 * INTERVAL, world)

    assert world.arrived == 2


def test_a_pod_refused_for_a_busy_node_is_tried_again_when_it_is_idle() -> None:
    """On the embedded cluster, with the queue of the real scheduler."""
    assert scheduled_after(using("n1", 4.0), using("n1", 0.1)) == {"before": "", "after": "n1"}


def test_a_pod_refused_for_its_price_is_tried_again_when_prices_fall() -> None:
    """It counts as a fortieth of the node: 1.25 per hour at first."""
    dear, cheap = (
        Prices(parse_prices(f"instance_type,usd_per_hour\nm5,{price}\n")) for price in (50, 1)
    )

    found = scheduled_after(
        dear,
        cheap,
        plugin="CostOptimizationPlugin",
        args={"maxCostThreshold": 0.5, "priceFile": "prices.csv"},
        seconds=PriceFile("prices.csv").seconds,
        on=node("n1").labelled({INSTANCE_TYPE_LABEL: "m5"}),
    )

    assert found == {"before": "", "after": "n1"}


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(FeedError("no such host"), id="a source that does not answer"),
        pytest.param(ZeroDivisionError("oops"), id="a reader that is broken"),
    ],
)
def test_a_feed_that_fails_goes_on_and_tells_its_age(trouble: Exception) -> None:
    says = FakeReader(using("n1", 1), trouble, trouble, using("n1", 2))
    world = Fed(cluster(), usage=says)
    seen: list[str] = []

    async def scrape() -> None:
        registry = CollectorRegistry()
        registry.register(world.feeds)
        await world.clock.sleep(INTERVAL - 1)
        while True:
            text = generate_latest(registry).decode()
            seen.extend(line for line in text.splitlines() if line.startswith("moorage_feed_age"))
            await world.clock.sleep(INTERVAL)

    stream = io.StringIO()
    log = logs.configure(0, "text", stream)
    fed(4 * INTERVAL, world, scrape())
    log.close()

    name = 'moorage_feed_age_seconds{feed="usage/metrics.k8s.io"}'
    assert seen == [f"{name} {age}" for age in (14.0, 29.0, 44.0, 14.0)]
    assert known(world.clusters[0])[0] == 2000.0
    said = stream.getvalue()
    assert said.count("feed not read") == said.count(str(trouble)) == 1
    assert said.count("feed read") == 2


def test_a_plugin_whose_sources_break_does_not_stop_the_others() -> None:
    class Broken(Score, frozen=True):
        def sources(self) -> tuple[Source, ...]:
            raise RuntimeError("no idea")

        def score(self, cycle: Any, pod: Any, node: Any) -> int:
            return 0

    world = Fed(cluster(Broken(), LOW), usage=FakeReader(using("n1", 1)))

    log = logs.configure(0, "text", io.StringIO())
    fed(3, world)
    log.close()

    assert known(world.clusters[0]) == [1000.0, NOW]


def test_who_lists_no_sources_is_not_looked_at_every_second() -> None:
    looked: list[str] = []

    class Silent(Score, frozen=True):
        def __getattr__(self, name: str) -> Any:
            looked.append(name)
            raise AttributeError(name)

        def score(self, cycle: Any, pod: Any, node: Any) -> int:
            return 0

    silent = Silent()
    world = Fed(cluster(silent, LOW), usage=FakeReader(using("n1", 1)))
    assert not hasattr(silent, "sources")
    assert looked.pop() == "sources"
    looked.clear()

    fed(100, world)

    assert known(world.clusters[0]) == [1000.0, NOW]
    assert looked == []


def test_everything_is_read_once_before_anybody_decides() -> None:
    world = Fed(cluster(), usage=FakeReader(using("n1", 1)))

    run_virtual(world.feeds.prime(), world.clock)

    assert known(world.clusters[0]) == [1000.0, NOW]


def test_who_wants_what() -> None:
    prometheus = EnergyProvider(type="Prometheus", address="http://p:9090")
    latency = NetworkLatencyPlugin(latency_file="/etc/latencies.yaml")

    assert LOW.sources() == (UsageSource(UsageProvider()),)
    assert EnergyAware().sources() == ()
    (energy,) = EnergyAware(metric_provider=prometheus).sources()
    assert (energy.name, energy.seconds) == ("energy/http://p:9090", 15.0)
    assert latency.sources() == (
        LatencyConfigMap("moorage-system", "moorage-latencies", 30.0, 600.0),
        LatencyFile("/etc/latencies.yaml", 30.0, 600.0),
    )
    assert NetworkLatencyPlugin(latency_config_map="").sources() == ()


def test_unknown_quantities_stay_unknown() -> None:
    assert all(value != value for value in (*Usage(), *Energy()))
