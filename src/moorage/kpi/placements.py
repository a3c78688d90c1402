"""What one placement is worth, by the definitions that the KPIs of a run have."""

import math
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from moorage.kpi.node_costs import Name, share_of_node
from moorage.kpi.spread import is_spread


class PlacementKpis(NamedTuple):
    """One pod on its node, right after it came there; NaN where there is nothing to tell.

    `utilisation` is how full the node is, `balance` 1 less by how much it is fuller than nodes are
    on the mean, `cost` the pod's part of the node's price per hour, `spread` 1 where its workload
    is evenly spread over zones, and 0 where it is not.
    """

    utilisation: float
    balance: float
    cost: float
    spread: float


def balance_of(fill: float, mean: float) -> float:
    """1 where the node is no fuller than nodes are on the mean."""
    return 1.0 - max(0.0, fill - mean)


def cost_of(
    asked: Mapping[Name, float],
    on_node: Iterable[Mapping[Name, float]],
    offered: Mapping[Name, float],
    price: float,
) -> float:
    """What a pod pays of a node's price, which those on it divide by their dominant shares."""
    whole = sum(share_of_node(each, offered) for each in on_node)
    return price * share_of_node(asked, offered) / whole if whole else price


def spread_of(counts: Mapping[int, int], zones: Set[int], max_skew: int = 1) -> float:
    """Whether a workload is spread; NaN for a single pod, and where there is only one zone."""
    if len(zones) < 2 or sum(counts.values()) < 2:
        return math.nan
    return float(is_spread(counts, zones, max_skew))
