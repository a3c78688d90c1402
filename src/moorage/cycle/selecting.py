"""The best node; ties are broken at random, as kube-scheduler does."""

import numpy as np
from numpy.typing import NDArray

from moorage.cycle.scoring import Scoring
from moorage.framework.cycle import Random


def best(scoring: Scoring) -> NDArray[np.intp]:
    """Positions of the nodes with the highest total."""
    totals = scoring.totals
    return np.flatnonzero(totals == totals.max())


def pick(scoring: Scoring, random: Random) -> int:
    """The position of one of the best nodes, each equally likely."""
    tied = best(scoring)
    return int(tied[random.randrange(len(tied))]) if len(tied) > 1 else int(tied[0])
