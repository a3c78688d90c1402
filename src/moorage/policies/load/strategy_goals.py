"""The goals of a namespace, and how far the measured values miss them.

A shortfall is 0 if the goal is met. It grows with the distance to the goal and stays below 1. A
goal without a measurement has no shortfall. Rates of a few pods are rough: the noise of a shortfall
is what one standard error more would add to it.
"""

import math
from typing import Final, NamedTuple

from moorage.api.affinity import NodeSelectorRequirement
from moorage.config.types import ConfigStruct
from moorage.policies.argument_types import Amount, Percent, Share
from moorage.policies.load.outcomes import Window

SUCCESS: Final = "success"
WAIT: Final = "wait"
LOSS: Final = "loss"
COST: Final = "cost"
LATENCY: Final = "latency"
UTILISATION: Final = "utilisation"

_LEAST: Final = 0.01
"""Relative distances are computed as if a goal were at least this."""


class AffinityRule(ConfigStruct, frozen=True):
    """Preferred nodes, and the weight of the preference."""

    nodes: tuple[NodeSelectorRequirement, ...]
    weight: Percent = 50


class PerformanceGoals(ConfigStruct, frozen=True):
    """The goals; None sets no goal.

    The share of attempts that succeed; seconds until pods are placed; losses per placed pod
    (rejected, evicted, failed or restarted); milliseconds to the pods that pods talk to; the used
    share of the cluster.
    """

    success_rate: Share | None = None
    wait_seconds: Amount | None = None
    loss_rate: Share | None = 0.02
    latency_ms: Amount | None = None
    utilisation: Share | None = None


class CostConstraints(ConfigStruct, frozen=True):
    """The most that a pod may cost per hour, in the mean."""

    pod_hour: Amount | None = None


class CpuAndMemory(ConfigStruct, frozen=True):
    """The weights of cpu and memory."""

    cpu: Percent = 0
    memory: Percent = 0


class NamespaceStrategy(ConfigStruct, frozen=True):
    """The goals, weights and rules for the pods of a namespace."""

    resource_weights: CpuAndMemory | None = None
    affinity_rules: tuple[AffinityRule, ...] = ()
    performance_goals: PerformanceGoals = PerformanceGoals()
    cost_constraints: CostConstraints = CostConstraints()


class Shortfall(NamedTuple):
    """How far a goal is missed, as a number and in words."""

    goal: str
    amount: float
    words: str
    noise: float = 0.0


def shortfalls(wanted: NamespaceStrategy, got: Window, utilisation: float) -> list[Shortfall]:
    """The shortfalls of all goals with a measurement, the largest first."""
    goals = wanted.performance_goals
    found = [
        *_at_least(SUCCESS, "attempts that succeed", got.success_rate, goals.success_rate),
        *_at_most(WAIT, "seconds of waiting", got.wait_seconds, goals.wait_seconds),
        *_at_most(
            LOSS,
            "pods lost for each placed",
            got.loss_rate,
            goals.loss_rate,
            math.sqrt(got.lost + 1) / max(got.placed, 1),
        ),
        *_at_most(COST, "cost of a pod per hour", got.pod_cost, wanted.cost_constraints.pod_hour),
        *_at_most(LATENCY, "milliseconds away", got.latency_ms, goals.latency_ms),
        *_used(utilisation, goals.utilisation),
    ]
    return sorted(found, key=lambda each: -each.amount)


def regret(found: list[Shortfall]) -> float:
    """The mean shortfall; 0 if every goal is met."""
    return sum(each.amount for each in found) / len(found) if found else 0.0


def noise(found: list[Shortfall]) -> float:
    """The mean noise: how far the regret may be off."""
    return sum(each.noise for each in found) / len(found) if found else 0.0


def _at_most(
    goal: str, noun: str, got: float, wanted: float | None, error: float = 0.0
) -> list[Shortfall]:
    if wanted is None or math.isnan(got):
        return []
    amount, more = _excess(got, wanted), _excess(got + error, wanted)
    words = f"{noun}: {got:.3g}, at most {wanted:.3g}"
    return [Shortfall(goal, amount, words, more - amount)]


def _excess(got: float, wanted: float) -> float:
    over = max(got - wanted, 0.0) / max(wanted, _LEAST)
    return over / (1.0 + over)


def _at_least(goal: str, noun: str, got: float, wanted: float | None) -> list[Shortfall]:
    if wanted is None or math.isnan(got):
        return []
    amount = _excess(1.0 - got, 1.0 - wanted)
    return [Shortfall(goal, amount, f"{noun}: {got:.0%}, at least {wanted:.0%}")]


def _used(got: float, wanted: float | None) -> list[Shortfall]:
    if not wanted or math.isnan(got):
        return []
    short = max(wanted - got, 0.0) / wanted
    return [Shortfall(UTILISATION, short, f"of the cluster used: {got:.0%}, at least {wanted:.0%}")]
