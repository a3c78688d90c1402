"""A scheduler that has ended is freed, with everything it believed."""

import asyncio
import gc
import random
import weakref
from typing import Any

import pytest

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cache.table import NodeTable
from moorage.clock import VirtualClock, run_virtual
from moorage.config import default_plugins
from moorage.config.loader import load
from moorage.framework.points import QueueSort
from moorage.memory.memory_cluster import MemoryCluster
from moorage.shadow.process import Shadow
from moorage.simulate.candidate import Candidate
from moorage.testing import node, pod, schedule
from moorage.testing.builders import NodeBuilder, PodBuilder
from moorage.watch.api_resources import PODS

START = 1_767_225_600.0
KNOWN = built_in_plugins.built_in()
DEFAULT = {ref.name for ref in default_plugins.ENABLED}
OWN = sorted({cls.__name__ for name, cls in KNOWN.items() if name not in DEFAULT})


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list["weakref.ref[NodeTable]"]:
    """Every table that is made."""
    made: list[weakref.ref[NodeTable]] = []
    begin = NodeTable.__init__

    def noted(table: NodeTable) -> None:
        made.append(weakref.ref(table))
        begin(table)

    monkeypatch.setattr(NodeTable, "__init__", noted)
    return made


def left(tables: list["weakref.ref[NodeTable]"]) -> int:
    gc.collect()
    gc.collect()  # what finalisers of the first have let go
    return sum(table() is not None for table in tables)


def test_a_scheduler_that_has_ended_is_freed(tables: list["weakref.ref[NodeTable]"]) -> None:
    assert schedule(node("n1"), pod("web")).nodes == {"web": "n1"}

    assert len(tables) == 1
    assert left(tables) == 0


def raw(obj: NodeBuilder | PodBuilder) -> dict[str, Any]:
    kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
    return {"apiVersion": "v1", "kind": kind, **obj.raw}


def enabled(name: str) -> dict[str, Any]:
    sorts = issubclass(built_in_plugins.built_in()[name], QueueSort)
    disabled = [{"name": "PrioritySort"}] if sorts else []
    plugins = {"multiPoint": {"enabled": [{"name": name}], "disabled": disabled}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }


@pytest.mark.parametrize("name", OWN)
def test_so_is_one_with_a_policy(name: str, tables: list["weakref.ref[NodeTable]"]) -> None:
    play(enabled(name))

    assert len(tables) == 1
    assert left(tables) == 0


def play(config: dict[str, Any]) -> None:
    """Schedule a few pods with a configuration."""
    clock, known = VirtualClock(START), built_in_plugins.built_in()
    found = load(config, known=built_in_plugins.describe_plugins(known)).configuration

    async def main() -> None:
        cluster = MemoryCluster(clock=clock, rng=random.Random(1))
        for each in (node("n1"), node("n2"), pod("web"), pod("big").requesting(cpu="99")):
            cluster.apply(raw(each))
        profiles = build_profiles(found, known)
        scheduler = assemble(cluster, profiles, clock=clock, rng=random.Random(2))
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(20.0)
        assert cluster.read(PODS, "default", "web")["spec"]["nodeName"]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)


def test_so_is_a_shadow_with_all_its_worlds(tables: list["weakref.ref[NodeTable]"]) -> None:
    clock = VirtualClock(START)

    async def main() -> None:
        cluster = MemoryCluster(clock=clock, rng=random.Random(1))
        for each in (node("n1"), pod("web")):
            cluster.apply(raw(each))
        candidates = (Candidate("one"), Candidate("two"))
        shadow = Shadow(cluster, candidates, clock)
        running = asyncio.ensure_future(shadow.run())
        await clock.sleep(2.0)
        await cluster.bind("default", "web", cluster.objects(PODS)[0].uid, "n1")
        await clock.sleep(20.0)
        assert [tally.placed for tally in shadow.findings().one_step] == [1, 1]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)

    assert len(tables) > 2
    assert left(tables) == 0
