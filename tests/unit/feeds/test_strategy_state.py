"""What was learnt is read from a ConfigMap, and written to it when it changes."""

import asyncio
import random
from typing import Any

import pytest

from moorage import Cycle, Filter, Node, Pod, Rejection
from moorage.clock import VirtualClock
from moorage.feeds import strategy_state
from moorage.feeds.readings import CONFIG_MAPS, FeedError
from moorage.feeds.strategy_state import StrategyReader, StrategyWriter
from moorage.memory.memory_cluster import MemoryCluster
from moorage.policies.load import adaptive_scheduling
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin
from moorage.policies.load.strategy_learner import Learner
from moorage.policies.telemetry.metric_sources import StrategyConfigMap
from moorage.testing import Cluster

SOURCE = StrategyConfigMap("moorage-system", "moorage-strategies", 300.0)


def cluster(*, has_map: bool = True) -> MemoryCluster:
    found = MemoryCluster(clock=VirtualClock(0.0), rng=random.Random(0))
    if has_map:
        metadata = {"name": SOURCE.config_map, "namespace": SOURCE.namespace}
        found.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    return found


def learnt(**values: int) -> Cluster:
    world = Cluster(plugins=[AdaptiveSchedulingPlugin()])
    learners = adaptive_scheduling.learned_strategies(world.profile.shared).learners
    learners["web"] = Learner(values=values, windows=3, reasons=["because"])
    return world


def written(server: MemoryCluster) -> dict[str, Any]:
    async def get() -> dict[str, Any]:
        return await server.get(CONFIG_MAPS, SOURCE.namespace, SOURCE.config_map)

    return asyncio.run(get()).get("data") or {}


def test_what_one_process_learnt_another_goes_on_from() -> None:
    server = cluster()
    asyncio.run(StrategyWriter(server, lambda: [learnt(safety=200).profile]).write())
    fresh: dict[str, Any] = {}

    asyncio.run(StrategyReader(SOURCE, server).read()).write(fresh)

    found = adaptive_scheduling.learned_strategies(fresh).learners["web"]
    assert (found.values, found.windows, found.reasons) == ({"safety": 200}, 3, ["because"])


def test_what_was_learnt_since_goes_before_what_is_read() -> None:
    server = cluster()
    asyncio.run(StrategyWriter(server, lambda: [learnt(safety=200).profile]).write())
    assert "safety" in written(server)["strategies.json"]
    shared = learnt(safety=400).profile.shared

    asyncio.run(StrategyReader(SOURCE, server).read()).write(shared)

    kept = adaptive_scheduling.learned_strategies(shared).learners["web"]
    assert kept.values == {"safety": 400}


def test_nothing_is_written_while_nothing_was_learnt() -> None:
    server = cluster()
    world = Cluster(plugins=[AdaptiveSchedulingPlugin()])
    learners = adaptive_scheduling.learned_strategies(world.profile.shared).learners
    learners["web"] = Learner(values={"safety": 200})
    writer = StrategyWriter(server, lambda: [world.profile])

    asyncio.run(writer.write())
    assert written(server) == {}

    learners["web"] = Learner(values={"safety": 200}, windows=1)
    asyncio.run(writer.write())
    assert "safety" in written(server)["strategies.json"]


def test_what_is_written_is_written_again_only_when_it_has_changed() -> None:
    server, world = cluster(), learnt(safety=200)
    writer = StrategyWriter(server, lambda: [world.profile])
    versions = []

    for safety in (200, 200, 400, 400):
        adaptive_scheduling.learned_strategies(world.profile.shared).learners["web"].values.update(
            safety=safety
        )
        asyncio.run(writer.write())
        versions.append(server.resource_version)

    assert versions[0] == versions[1] < versions[2] == versions[3]
    assert '"safety":400' in written(server)["strategies.json"]


class Broken(Filter, frozen=True):
    """Cannot say what it reads."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None

    def sources(self) -> tuple[StrategyConfigMap, ...]:
        raise KeyError("METRICS_URL")


def test_a_plugin_that_cannot_say_what_it_reads_ends_nothing() -> None:
    """What others have learnt is written."""
    server, broken = cluster(), Cluster(plugins=[Broken()]).profile

    asyncio.run(StrategyWriter(server, lambda: [broken, learnt(safety=200).profile]).write())

    assert "web" in written(server)["strategies.json"]


def test_a_missing_config_map_names_its_remedy_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, world = cluster(has_map=False), learnt(safety=200)
    writer = StrategyWriter(server, lambda: [world.profile])

    for _ in range(2):
        asyncio.run(writer.write())
    assert [said.getMessage() for said in caplog.records] == ["strategies not written"]
    assert "deploy/components/strategies" in str(vars(caplog.records[0]))
    with pytest.raises(FeedError, match="deploy/components/strategies"):
        asyncio.run(StrategyReader(SOURCE, server).read())


def test_nonsense_is_refused_with_its_place() -> None:
    with pytest.raises(FeedError, match=r"there, data\[strategies.json\]"):
        strategy_state.parse_learners('{"web": 1}', "there")
