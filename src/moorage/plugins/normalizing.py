"""kube-scheduler's default normalisation."""

import numpy as np
from numpy.typing import NDArray

from moorage.framework.verdicts import MAX_SCORE


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
