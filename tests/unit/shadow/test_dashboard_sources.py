"""A shadow on a dashboard: each judgement is a decision, and agreement has an interval."""

import asyncio
import random

import pytest

from moorage.clock import VirtualClock, run_virtual
from moorage.dashboard.sources import Sources
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.decision_records import DecisionRecords
from moorage.shadow.dashboard_sources import JudgementRecords, shadow_sources, wilson
from moorage.shadow.process import Shadow
from moorage.watch.api_resources import NODES, PODS
from tests.unit.dashboard.shown import get
from tests.unit.shadow.test_shadow import DEFAULT, PACKING, START, ReadOnly, node, pod


def looked_at() -> tuple[Sources, DecisionRecords]:
    """Two configurations beside somebody who binds one pod."""
    clock = VirtualClock(START)

    async def main() -> tuple[Sources, DecisionRecords]:
        cluster = MemoryCluster(clock=clock, rng=random.Random(1))
        for number in range(3):
            await cluster.create(NODES, node(number))
        records = DecisionRecords()
        shadow = Shadow(
            ReadOnly(cluster), [DEFAULT, PACKING], clock, told=[JudgementRecords(records).judged]
        )
        running = asyncio.ensure_future(shadow.run())
        await clock.sleep(5)
        await cluster.create(PODS, pod(1))
        await clock.sleep(1)
        await cluster.bind("default", "p1", "", "n2")
        await clock.sleep(30)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return shadow_sources(shadow, records, []), records

    return run_virtual(main(), clock)


def test_judgements_are_decisions_and_compared() -> None:
    sources, records = looked_at()

    told, compared = get(sources, "decisions"), get(sources, "compare")
    cluster = get(sources, "cluster")

    assert records.count == 2
    assert {each["profile"] for each in told["items"]} == {"kube-default", "packing"}
    assert {each["node"] for each in told["items"]} == {"n2"}
    assert [each["judged"] for each in compared["shadow"]["one_step"]] == [1, 1]
    (agreement,) = [each for each in compared["kpis"] if each["kpi"] == "agreement"]
    assert agreement["configurations"] == ["kube-default", "packing"]
    assert sum(cluster["nodes"]["pods"]) == 1


@pytest.mark.parametrize(
    ("hits", "of", "want"),
    [
        pytest.param(10, 10, (1.0, 0.7225, 1.0), id="all of ten: surely most"),
        pytest.param(0, 1, (0.0, 0.0, 0.7935), id="none of one says little"),
        pytest.param(500, 1000, (0.5, 0.4691, 0.5309), id="half of many"),
    ],
)
def test_a_share_has_an_interval(hits: int, of: int, want: tuple[float, float, float]) -> None:
    assert wilson(hits, of) == pytest.approx(want, abs=1e-3)
