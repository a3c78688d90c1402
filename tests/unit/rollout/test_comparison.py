"""Two versions beside each other: what differs by more than chance, and what cannot be told."""

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from moorage.config.canary_limits import Rollback
from moorage.config.durations import Duration
from moorage.rollout.comparison import Comparison, Finding
from moorage.rollout.effects import EFFECTS
from moorage.rollout.permutation_test import PermutationTest, holm

ALL = Rollback(
    max_failure_rate_increase=0.0,
    max_latency_ratio=1.0,
    max_wait_increase=Duration(0),
    max_evictions_increase=0.0,
    max_cost_ratio=1.0,
    max_utilisation_decrease=0.0,
    max_balance_decrease=0.0,
    max_spread_decrease=0.0,
)
"""Any worsening at all is too much, if only it is real."""


def stream(
    limits: Rollback,
    pods: int,
    worse: Mapping[str, float] = MappingProxyType({}),
    *,
    seed: int = 1,
    canary_of: int = 4,
    owners: int = 0,
) -> Comparison:
    """A comparison that has heard of so many pods, and looked whenever it was due."""
    dice, made = random.Random(seed), Comparison(limits)
    theirs = {f"owner-{i}": dice.randrange(canary_of) == 0 for i in range(owners)}
    for index in range(pods):
        unit = f"owner-{index % owners}" if owners else f"pod-{index}"
        is_canary = theirs[unit] if owners else dice.randrange(canary_of) == 0
        uid, level = f"uid-{index}", index / pods
        made.pods.enter(uid, unit, is_canary=is_canary)
        for kpi, value in _drawn(dice, level, unit).items():
            made.pods.set(uid, kpi, value + worse.get(kpi, 0.0) * is_canary)
        made.pods.end(uid)
        while made.is_due and not made.against():
            made.step()
    return made


def _drawn(dice: random.Random, level: float, unit: str) -> dict[str, float]:
    """A cluster that fills up: everything drifts, tails are heavy, owners have their ways."""
    own = random.Random(unit).random() if unit.startswith("owner") else 0.0
    return {
        "failures": float(dice.random() < 0.1 + 0.3 * level),
        "latency": dice.lognormvariate(-6, 1),
        "wait": dice.paretovariate(1.1) * (1 + 5 * level),
        "evictions": float(dice.random() < 0.05),
        "cost": dice.lognormvariate(-2, 1) + own,
        "utilisation": min(1.0, level + 0.2 * dice.random()),
        "balance": 1 - 0.2 * dice.random(),
        "spread": float(dice.random() < 0.8),
    }


def found(comparison: Comparison) -> dict[str, Finding]:
    return {finding.kpi: finding for finding in comparison.findings}


def test_ten_pods_are_not_enough_evidence() -> None:
    made = stream(ALL, 40, {"cost": 100.0})

    assert not made.is_due
    assert made.summary().startswith("not enough evidence: ")
    assert "and 20 of each are needed" in made.summary()
    assert made.against() == ""


def test_versions_that_do_the_same_are_hardly_ever_told_apart() -> None:
    """Eight KPIs without tolerance, looked at again and again, for 100 canaries."""
    wrong = sum(bool(stream(ALL, 400, seed=seed).against()) for seed in range(100))

    assert wrong <= 5


def test_nor_where_pods_of_an_owner_are_alike() -> None:
    wrong = sum(
        bool(stream(ALL, 300, seed=seed, canary_of=2, owners=60).against()) for seed in range(100)
    )

    assert wrong <= 5


@pytest.mark.parametrize(
    ("kpi", "by", "limit"),
    [
        ("failures", 0.4, {"max_failure_rate_increase": 0.1}),
        ("latency", 0.1, {"max_latency_ratio": 3.0}),
        ("wait", 60.0, {"max_wait_increase": Duration.of_seconds(10)}),
        ("evictions", 0.5, {"max_evictions_increase": 0.1}),
        ("cost", 0.5, {"max_cost_ratio": 2.0}),
        ("utilisation", -0.5, {"max_utilisation_decrease": 0.1}),
        ("balance", -0.3, {"max_balance_decrease": 0.1}),
        ("spread", -0.6, {"max_spread_decrease": 0.1}),
    ],
)
def test_each_of_them_can_speak_against_a_canary(
    kpi: str, by: float, limit: dict[str, Any]
) -> None:
    words = next(effect.words for effect in EFFECTS if effect.name == kpi)
    made = stream(Rollback(**limit), 600, {kpi: by})

    assert words in made.against()
    assert "of the stable version, and at most" in made.against()
    assert "chance would show that in 1 of" in made.against()
    assert found(made)[kpi].verdict == "worse"
    without: dict[str, Any] = dict.fromkeys(limit)
    assert stream(Rollback(**without), 600, {kpi: by}).against() == ""


def test_what_is_worse_within_its_limit_is_told_and_kept() -> None:
    made = stream(Rollback(max_cost_ratio=5.0), 600, {"cost": 0.4})

    assert made.against() == ""
    assert found(made)["cost"].verdict == "worse"
    assert "cost: worse (" in made.summary()


def test_what_is_better_is_told() -> None:
    assert found(stream(Rollback(), 600, {"cost": -0.2}))["cost"].verdict == "better"


def test_looks_grow_rare_and_chance_has_less_and_less_of_them() -> None:
    few, many = stream(Rollback(), 400), stream(Rollback(window=20), 4_000)

    assert few.looks <= 4
    assert many.looks <= 4_000 / 4 / 100 + 4


def test_a_p_value_is_what_counting_all_divisions_gives() -> None:
    """Two of five pods, the two worst ones: one of ten divisions is as bad."""
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    test = PermutationTest(values, np.array([False, False, False, True, True]), [1], seed=0)
    while test.draws < 50_000:
        test.draw()

    assert test.p_worse(0) == pytest.approx(0.1, abs=0.01)
    assert test.p_better(0) == 1.0


def test_among_many_comparisons_more_is_asked_of_each() -> None:
    assert holm({"a": 0.02, "b": 0.5}, 0.05) == {"a"}
    assert holm({"a": 0.03, "b": 0.5}, 0.05) == set()
    assert holm({"a": 0.01, "b": 0.04}, 0.05) == {"a", "b"}
