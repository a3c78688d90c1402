"""What one placement is worth, by the same definitions as the KPIs of a run."""

import math
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from moorage.kpi.node_costs import Name, share_of_node
from moorage.kpi.spread import is_spread


class PlacementKpis(NamedTuple):
    """One pod on its node, right after its placement; NaN for what does not apply.

    `utilisation` is how full the node is. `balance` is 1 less the amount by which it is fuller than
    the mean of all nodes. `cost` is the pod's part of the node's price per hour. `spread` is 1 if
    its workload is evenly spread over zones, and 0 if not.
    """

    utilisation: float
    balance: float
    cost: float
    spread: float


def balance_of(fill: float, mean: float) -> float:
    """1 if the node is no fuller than the mean of all nodes, less the excess otherwise."""
    return 1.0 - max(0.0, fill - mean)


def cost_of(
    asked: Mapping[Name, float],
    on_node: Iterable[Mapping[Name, float]],
    offered: Mapping[Name, float],
    price: float,
) -> float:
    """A pod's part of a node's price, which its pods divide by their dominant shares."""
    whole = sum(share_of_node(each, offered) for each in on_node)
    return price * share_of_node(asked, offered) / whole if whole else price


def spread_of(counts: Mapping[int, int], zones: Set[int], max_skew: int = 1) -> float:
    """1 if a workload is spread, else 0; NaN for a single pod or a single zone."""
    if len(zones) < 2 or sum(counts.values()) < 2:
        return math.nan
    return float(is_spread(counts, zones, max_skew))
