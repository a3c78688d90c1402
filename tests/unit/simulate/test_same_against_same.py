"""One configuration against itself, on seeds of their own: chance alone is told as no difference.

The runs are real; they are divided into two sides again and again, and each side is taken for a
configuration.
"""

import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from moorage.simulate.comparison import compare
from moorage.simulate.scenario import Arrival, Scenario
from moorage.simulate.scenario_run import RunResult, run_scenario
from tests.unit.simulate.scenarios import KUBE, nodes, random_arrivals, scenario

SIDE = 12
DIVISIONS = 200
LOOKED_AT = ("wait_s.mean", "completion_s.mean", "utilisation.cpu", "fairness", "cost")


class _Drawn:
    """Other pods for every seed."""

    def arrivals(self, seed: int) -> list[Arrival]:
        return random_arrivals(40, seed)


@pytest.fixture(scope="module")
def runs() -> list[RunResult]:
    played: Scenario = scenario(nodes(3), random_arrivals(40, seed=1))
    played = msgspec.structs.replace(played, sources=(_Drawn(),), is_plain=True)
    found = (run_scenario(played, KUBE, seed) for seed in range(2 * SIDE))
    return [msgspec.structs.replace(run, kpis=_looked_at(run)) for run in found]


def _looked_at(run: RunResult) -> dict[str, Any]:
    return {name: run.kpis[name] for name in {kpi.split(".")[0] for kpi in LOOKED_AT}}


def sides(runs: list[RunResult], rng: random.Random) -> dict[str, list[RunResult]]:
    drawn = rng.sample(runs, len(runs))
    return {
        name: [msgspec.structs.replace(run, seed=seed) for seed, run in enumerate(side)]
        for name, side in (("a", drawn[:SIDE]), ("b", drawn[SIDE:]))
    }


def test_nineteen_times_in_twenty_there_is_no_difference(runs: list[RunResult]) -> None:
    rng, told = random.Random(1), Counter[str]()
    for _ in range(DIVISIONS):
        compared = compare("same against same", "test", sides(runs, rng))
        told.update(each.kpi for each in compared.differences if each.is_significant)

    assert len({run.kpis["wait_s"]["mean"] for run in runs}) > SIDE  # the runs do differ
    for kpi in LOOKED_AT:
        assert told[kpi] <= 0.08 * DIVISIONS, kpi  # 0.05, and what chance makes of it
    assert sum(told[kpi] for kpi in LOOKED_AT) <= 0.05 * DIVISIONS * len(LOOKED_AT)


def test_runs_that_do_differ_are_told_apart(runs: list[RunResult]) -> None:
    """The same runs at a higher price: the intervals are not so wide that nothing is told."""
    found = sides(runs, random.Random(1))
    found["b"] = [
        msgspec.structs.replace(run, kpis={**run.kpis, "cost": run.kpis["cost"] * 1.1})
        for run in found["a"]
    ]
    compared = compare("dearer", "test", found)

    assert [each.is_significant for each in compared.differences if each.kpi == "cost"] == [True]
