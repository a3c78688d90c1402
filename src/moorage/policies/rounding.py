"""From fractions to scores."""

import numpy as np
from numpy.typing import NDArray

from moorage.framework.verdicts import MAX_SCORE, MIN_SCORE

_A_HAIR = 1e-9
"""What floating point may lack to a whole number: 100 * (1 - 0.9) is meant to be 10."""


def write(values: NDArray[np.float64], out: NDArray[np.int64]) -> None:
    """Write values as scores: cut to 0..100, rounded down.  (node)"""
    np.add(np.clip(values, MIN_SCORE, MAX_SCORE), _A_HAIR, out=out, casting="unsafe")
