"""`percentageOfNodesToScore`: kube-scheduler's way of looking at some nodes only.

Moorage scores all nodes unless a user sets a percentage. Then rows are walked in kube's order,
starting where the last attempt stopped, and the walk ends when enough are feasible.
"""

import numpy as np
from numpy.typing import NDArray

from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle

MIN_FEASIBLE = 100
MIN_PERCENTAGE = 5


def enough(percentage: int, nodes: int) -> int:
    """How many feasible nodes end the search (kube's numFeasibleNodesToFind)."""
    if nodes < MIN_FEASIBLE:
        return nodes
    adaptive = max(50 - nodes // 125, MIN_PERCENTAGE)
    return max(nodes * (percentage or adaptive) // 100, MIN_FEASIBLE)


def sample(profile: Profile, cycle: Cycle, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the feasible rows, those that kube's walk would have reached."""
    percentage = profile.percentage_of_nodes_to_score
    order = np.asarray(cycle.cache.node_order(), dtype=np.intp)
    if percentage is None or len(order) == 0:
        return feasible
    walk = np.roll(order, -profile.next_start)
    reached = np.cumsum(feasible[walk])
    wanted = enough(percentage, len(order))
    stop = int(np.searchsorted(reached, wanted)) + 1 if reached[-1] >= wanted else len(order)
    profile.next_start = (profile.next_start + stop) % len(order)
    kept = np.zeros_like(feasible)
    kept[walk[:stop]] = feasible[walk[:stop]]
    return kept
