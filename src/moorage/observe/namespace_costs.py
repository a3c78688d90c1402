"""What the pods of each namespace cost per hour, where a profile knows what nodes cost."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from moorage.cache.cache import Cache
from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import PodChange
from moorage.cycle.profile import Profile
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, gauge
from moorage.policies.business import price_table
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.business.price_list import PriceList


class NamespaceCosts:
    """The costs by the first profile's CostOptimizationPlugin; empty if no profile has one.

    The parts of nodes that pods take are kept from scrape to scrape; only pods that came and went
    are looked at, and those of nodes that offer something else than they did.
    """

    def __init__(self, profiles: Callable[[], Mapping[str, Profile]], cache: Cache) -> None:
        self._profiles = profiles
        self._cache = cache
        self._pods: Follower[PodChange] = Follower()
        self._nodes: Follower[int] = Follower()
        self._shares: dict[int, dict[str, float]] = {}
        """By row, the part of the node that each namespace takes."""
        self._offered: dict[int, bytes] = {}
        """By row, what the node offered when its parts were worked out."""
        self._by: PriceList | None = None

    def describe(self) -> tuple[Family, ...]:
        """Nothing: the metrics are made at each scrape."""
        return ()

    def collect(self) -> Iterator[Family]:
        """The present costs, for Prometheus."""
        costs = sorted(self.by_namespace().items())
        yield gauge(catalogue.NAMESPACE_COST, [((name,), cost) for name, cost in costs])

    def by_namespace(self) -> dict[str, float]:
        """What the pods of each namespace cost per hour."""
        for profile in self._profiles().values():
            plugin = profile.plugins.get(CostOptimizationPlugin.plugin_name())
            if isinstance(plugin, CostOptimizationPlugin):
                known = price_table.price_table(profile.shared)
                return self._costs(plugin.prices, known)
        return {}

    def _costs(self, by: PriceList, known: price_table.PriceTable) -> dict[str, float]:
        self._catch_up(by)
        prices = by.prices(Nodes.all(self._cache.table), known).tolist()
        found: dict[str, float] = defaultdict(float)
        for row, shares in self._shares.items():
            for namespace, share in shares.items():
                found[namespace] += prices[row] * share
        return dict(found)

    def _catch_up(self, by: PriceList) -> None:
        table = self._cache.table
        self._nodes.read(
            table.node_log,
            lambda nodes: self._pods.read(
                table.pod_log, lambda pods: self._update(by, pods, nodes)
            ),
        )

    def _update(
        self, by: PriceList, pods: Sequence[PodChange] | None, nodes: Sequence[int] | None
    ) -> None:
        if pods is None or nodes is None or by is not self._by:
            self._by = by
            pods, anew = (), set(range(len(self._cache.table.pods)))
        else:
            anew = {row for row in nodes if self._offers(row) != self._offered.get(row)}
        for row in anew:
            self._shares.pop(row, None)
            self._offered[row] = self._offers(row)
            for pod in self._cache.table.pods[row].values():
                self._count(by, row, pod, 1)
        for row, pod, sign in pods:
            if row not in anew:
                self._count(by, row, pod, sign)

    def _offers(self, row: int) -> bytes:
        return self._cache.table.allocatable[:, row].tobytes()

    def _count(self, by: PriceList, row: int, pod: PodInfo, sign: int) -> None:
        shares, namespace = self._shares.setdefault(row, {}), pod.pod.namespace
        share = shares.get(namespace, 0.0)
        shares[namespace] = share + sign * by.share_of_node(pod, self._cache.table, row)
        if abs(shares[namespace]) < _NOTHING:
            del shares[namespace]


_NOTHING = 1e-9
