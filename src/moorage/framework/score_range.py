"""From raw values to scores of 0 to 100: scaled by the highest, or clipped and rounded down."""

import numpy as np
from numpy.typing import NDArray

from moorage.framework.verdicts import MAX_SCORE, MIN_SCORE

_FLOAT_ERROR = 1e-9
"""Added before rounding down, because floats fall short: 100 * (1 - 0.9) is meant to be 10."""


def write_scores(values: NDArray[np.float64], out: NDArray[np.int64]) -> None:
    """Write values as scores: cut to 0..100, rounded down.  (node)"""
    np.add(np.clip(values, MIN_SCORE, MAX_SCORE), _FLOAT_ERROR, out=out, casting="unsafe")


INVALID_SCORE = "an invalid score {}, it should in the range of [0, 100] after normalizing"


def normalize_by_maximum(scores: NDArray[np.int64], reverse: bool = False) -> None:
    """Scale 0..max to 0..100, truncating; `reverse` turns the largest into 0. In place."""
    highest = int(scores.max(initial=0))
    if highest <= 0:
        if reverse:
            scores.fill(MAX_SCORE)
        return
    scores *= MAX_SCORE
    scores //= highest
    if reverse:
        np.subtract(MAX_SCORE, scores, out=scores)


def check_range(scores: NDArray[np.int64]) -> None:
    """ValueError if a score is out of range, for plugins that can foresee it."""
    for score in scores[(scores < MIN_SCORE) | (scores > MAX_SCORE)].tolist():
        raise ValueError(INVALID_SCORE.format(score))
