"""Confidence intervals of a mean by Student's t distribution."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev
from typing import Final

import msgspec

CONFIDENCE: Final = 0.95
_EXACT: Final = (
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.06390, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
)  # fmt: skip
"""The 97.5 % point for 1 to 30 degrees of freedom."""


class Interval(msgspec.Struct, frozen=True):
    """A mean and its 95 % confidence interval; a single value has no interval."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def excludes_zero(self) -> bool:
        """Whether the mean differs from zero by more than chance explains."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of independent values, with its confidence interval."""
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean)
    half = t_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def paired_interval(first: Sequence[float], second: Sequence[float]) -> Interval:
    """The mean of `second` − `first`, pair by pair, with its confidence interval."""
    return mean_interval([b - a for a, b in zip(first, second, strict=True)])


def t_quantile(freedom: int) -> float:
    """The 97.5 % point of Student's t; above 30 degrees by the Cornish-Fisher expansion."""
    if freedom <= len(_EXACT):
        return _EXACT[freedom - 1]
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
