"""The best node; ties are broken at random, as kube-scheduler does."""

import numpy as np
from numpy.typing import NDArray

from moorage.cycle.scoring import Scoring
from moorage.framework.cycle import Random
from moorage.plugins.kernels import compiled


def best(scoring: Scoring) -> NDArray[np.intp]:
    """Positions of the nodes with the highest total."""
    totals = scoring.totals
    return np.flatnonzero(totals == totals.max())


def pick(scoring: Scoring, random: Random) -> tuple[int, int]:
    """One of the best nodes, each equally likely: its position, and its total."""
    whole = scoring.nodes.is_contiguous
    if compiled is not None and scoring.columns and (whole or scoring.own is None):
        position, total = _pick_of_columns(scoring, random)
    else:
        tied = best(scoring)
        position = int(tied[random.randrange(len(tied))]) if len(tied) > 1 else int(tied[0])
        total = int(scoring.totals[position])
    return position, total + scoring.constant


def _pick_of_columns(scoring: Scoring, random: Random) -> tuple[int, int]:
    """The same in two compiled passes, without adding the columns up in memory."""
    assert compiled is not None
    own = () if scoring.own is None else ((scoring.own, 1),)
    columns = (*scoring.columns, *own)
    rows = None if scoring.nodes.is_contiguous else scoring.nodes.rows
    total, tied = compiled.highest(columns, rows)
    chosen = random.randrange(tied) if tied > 1 else 0
    return compiled.nth_of(columns, rows, total, chosen), total
