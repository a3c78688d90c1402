"""Measures placements: the KPIs of a pod on its node, read from the cache when it is bound."""

from collections import defaultdict
from typing import Final

import numpy as np

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes, fullest
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import PodChange
from moorage.cycle.profile import Profile
from moorage.kpi.placements import PlacementKpis, balance_of, cost_of, spread_of
from moorage.policies.business import price_table
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.business.price_list import PriceList

_ZONE: Final = "topology.kubernetes.io/zone"
_APP: Final = "app"


class PlacementMeter:
    """Reads the cache, never changes it; follows the pod log for the zones of workloads."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._changes: Follower[PodChange] = Follower()
        self._rows: dict[str, dict[int, int]] = defaultdict(dict)

    def measure(self, uid: str, profiles: tuple[Profile, ...]) -> PlacementKpis | None:
        """The KPIs of a pod on its node; None if it has left the cache."""
        info, name = self._cache.pod(uid), self._cache.node_of(uid)
        row = None if name is None else self._cache.table.row_of.get(name)
        if info is None or row is None:
            return None
        table = self._cache.table
        fills = fullest(table, slice(0, table.rows))
        mean, fill = float(fills[table.alive[: table.rows]].mean()), float(fills[row])
        cost = self._cost(info, row, profiles)
        return PlacementKpis(fill, balance_of(fill, mean), cost, self._spread(info))

    def _cost(self, info: PodInfo, row: int, profiles: tuple[Profile, ...]) -> float:
        table = self._cache.table
        by, known = price_list(profiles)
        price = float(by.prices(Nodes.some(table, [row]), known)[0])
        offered = dict(enumerate(table.allocatable[:, row].tolist()))
        on_node = (dict(each.requests) for each in table.pods[row].values())
        return cost_of(dict(info.requests), on_node, offered, price)

    def _spread(self, info: PodInfo) -> float:
        table = self._cache.table
        self._catch_up()
        held = self._rows.get(workload(info.pod), {})
        ids = table.label(_ZONE).ids
        counts: dict[int, int] = {}
        for zone, pods in zip(ids[list(held)].tolist(), held.values(), strict=True):
            counts[zone] = counts.get(zone, 0) + pods
        zones = set(np.unique(ids[: table.rows][table.alive[: table.rows]]).tolist()) - {0}
        return spread_of(counts, zones)

    def _catch_up(self) -> None:
        table = self._cache.table

        def afresh() -> list[PodChange]:
            self._rows.clear()
            return table.placed_pods()

        self._changes.apply(table.pod_log, afresh, self._count)

    def _count(self, change: PodChange) -> None:
        row, pod, sign = change
        name = workload(pod.pod)
        if not name:
            return
        rows = self._rows[name]
        rows[row] = rows.get(row, 0) + sign
        if not rows[row]:
            del rows[row]
        if not rows:
            del self._rows[name]


def workload(pod: Pod) -> str:
    """The workload of a pod: its controller, or else its app label; empty if it has neither."""
    owner = pod.owner
    if owner is not None:
        return f"{pod.namespace}/{owner.kind}/{owner.name}"
    app = pod.labels.get(_APP)
    return f"{pod.namespace}/{app}" if app else ""


def price_list(profiles: tuple[Profile, ...]) -> tuple[PriceList, price_table.PriceTable]:
    """Prices by the first profile that knows any, or else by the defaults of those that do."""
    for profile in profiles:
        for plugin in profile.plugins.values():
            prices = getattr(plugin, "prices", None)
            if isinstance(prices, PriceList):
                return prices, price_table.price_table(profile.shared)
    return CostOptimizationPlugin().prices, price_table.NO_PRICES
