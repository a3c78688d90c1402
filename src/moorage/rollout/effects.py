"""The KPIs by which two versions of a profile are compared: one number for each pod."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from moorage.config.canary_limits import Rollback
from moorage.kpi.quantiles import quantile

QUANTILE: Final = 0.9


class Effect(msgspec.Struct, frozen=True):
    """One KPI: which way is worse, how its limit is applied, and how to say it.

    The limit is a factor if `is_ratio`, and a difference otherwise.
    """

    name: str
    words: str
    limit: Callable[[Rollback], float | None]
    written: Callable[[float], str]
    more_is_worse: bool = True
    is_ratio: bool = False
    value: Callable[[Sequence[float]], float] = lambda values: math.fsum(values) / len(values)

    @property
    def sign(self) -> int:
        """1 if more is worse, -1 if less is."""
        return 1 if self.more_is_worse else -1

    def is_beyond(self, canary: float, stable: float, limit: float) -> bool:
        """Whether the canary is worse by more than is allowed."""
        if self.is_ratio:
            return canary > stable * limit
        return (canary - stable) * self.sign > limit

    def allowed(self, limit: float) -> str:
        """The limit in words."""
        if self.is_ratio:
            return f"at most {limit:g} times as much is allowed"
        return (
            f"at most {self.written(limit)} {'more' if self.more_is_worse else 'less'} is allowed"
        )


def _percent(share: float) -> str:
    return f"{share * 100:.3g}%"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s"


def _millis(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _wait_limit(limits: Rollback) -> float | None:
    return None if limits.max_wait_increase is None else limits.max_wait_increase.seconds


def high_quantile(values: Sequence[float]) -> float:
    """The 90th percentile of the values."""
    return quantile(sorted(values), QUANTILE)


EFFECTS: Final = (
    Effect("failures", "failure rate", lambda it: it.max_failure_rate_increase, _percent),
    Effect(
        "latency",
        "latency",
        lambda it: it.max_latency_ratio,
        _millis,
        is_ratio=True,
        value=high_quantile,
    ),
    Effect("wait", "waiting time", _wait_limit, _seconds),
    Effect("evictions", "evictions per pod", lambda it: it.max_evictions_increase, _number),
    Effect("cost", "cost per pod and hour", lambda it: it.max_cost_ratio, _number, is_ratio=True),
    Effect(
        "utilisation",
        "utilisation of its nodes",
        lambda it: it.max_utilisation_decrease,
        _percent,
        more_is_worse=False,
    ),
    Effect("balance", "balance", lambda it: it.max_balance_decrease, _percent, more_is_worse=False),
    Effect(
        "spread",
        "share of pods whose workload is spread over zones",
        lambda it: it.max_spread_decrease,
        _percent,
        more_is_worse=False,
    ),
)
INDEX: Final = {effect.name: index for index, effect in enumerate(EFFECTS)}
