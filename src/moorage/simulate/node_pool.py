"""The nodes of a run: they fail and are repaired, are reclaimed, are started and removed."""

import random
from collections.abc import Callable, Iterable

import msgspec

from moorage.api import resource_amounts
from moorage.api.node import Node
from moorage.clock import VirtualClock
from moorage.kpi.meter import Meter
from moorage.simulate.pod_lifecycle import PodLifecycle
from moorage.simulate.scenario import PricedNode
from moorage.simulate.scenario_schema import Failures, Spot
from moorage.simulate.simulated_server import SimulatedServer
from moorage.watch.api_resources import NODES


class NodePool:
    """Adds and removes nodes; `coming` counts the nodes that will certainly join."""

    def __init__(
        self,
        server: SimulatedServer,
        clock: VirtualClock,
        meter: Meter,
        pods: PodLifecycle,
        seed: int,
        start: float,
    ) -> None:
        self._server = server
        self._clock = clock
        self._meter = meter
        self._pods = pods
        self._seed = seed
        self._start = start
        self.coming = 0
        self.present: dict[str, PricedNode] = {}

    def join_all(self, nodes: Iterable[PricedNode]) -> None:
        """Add the nodes of the start, and schedule their storms."""
        listed = list(nodes)
        for each in listed:
            self.join(each)
        storms = [each for each in listed if each.spot is not None and each.spot.storms]
        if storms:
            self._expect_storms(storms)

    def join(self, each: PricedNode) -> None:
        """Add an empty node, and schedule its failure or its end as a spot node."""
        node = each.node
        self.present[node.name] = each
        self._server.put(NODES, node)
        price = each.price_per_hour
        self._meter.node_joined(self._clock.now(), node.name, offered(node), price, node.zone)
        if each.failures is None and each.spot is None:
            return
        rng = random.Random(f"{self._seed}/node/{node.name}/{self._clock.now()}")
        if each.failures is not None:
            failures = each.failures
            self._in(rng.expovariate(1 / failures.mean_seconds), each, lambda: self._fail(each))
        if each.spot is not None and each.spot.mean_seconds is not None:
            self._in(rng.expovariate(1 / each.spot.mean_seconds), each, lambda: self.reclaim(each))

    def leave(self, name: str) -> None:
        """Remove a node; it must hold no pods."""
        del self.present[name]
        self._server.remove(NODES, name)
        self._meter.node_left(self._clock.now(), name)

    def join_later(self, each: PricedNode, seconds: float) -> None:
        """Add a node after `seconds`."""
        self.coming += 1

        def arrive() -> None:
            self.coming -= 1
            self.join(each)

        self._clock.call_at(self._clock.now() + seconds, arrive)

    def reclaim(self, each: PricedNode) -> None:
        """Cordon the node, evict its pods, and remove it when the notice is over."""
        spot, name = each.spot or Spot(), each.node.name
        if self.present.get(name) is not each:
            return
        spec = msgspec.structs.replace(each.node.spec, unschedulable=True)
        self._server.put(NODES, msgspec.structs.replace(each.node, spec=spec))
        self._pods.drain(name, spot.notice_seconds)
        self._in(spot.notice_seconds, each, lambda: self._lose(each, 0.0, spot.replace_seconds))

    def _fail(self, each: PricedNode) -> None:
        failures: Failures | None = each.failures
        assert failures is not None
        self._lose(each, failures.evict_seconds, failures.repair_seconds)

    def _lose(self, each: PricedNode, evict_seconds: float, again_seconds: float | None) -> None:
        """Remove a node with its pods; add it, or one like it, after `again_seconds` if given."""
        self._pods.lose_node(each.node.name, evict_seconds)
        self.leave(each.node.name)
        if again_seconds is not None:
            self.join_later(each, again_seconds)

    def _in(self, seconds: float, each: PricedNode, action: Callable[[], None]) -> None:
        """Call `action` after `seconds`, if this node is still present then."""

        def act() -> None:
            if self.present.get(each.node.name) is each:
                action()

        self._clock.call_at(self._clock.now() + seconds, act)

    def _expect_storms(self, nodes: list[PricedNode]) -> None:
        for each_storm in sorted(
            {storm for each in nodes if each.spot is not None for storm in each.spot.storms},
            key=lambda storm: (storm.at_seconds, storm.share),
        ):
            struck = [e for e in nodes if e.spot is not None and each_storm in e.spot.storms]
            rng = random.Random(f"{self._seed}/storm/{each_storm.at_seconds}")
            chosen = rng.sample(struck, round(each_storm.share * len(struck)))

            def strike(chosen: list[PricedNode] = chosen) -> None:
                for each in chosen:
                    self.reclaim(each)

            self._clock.call_at(self._start + each_storm.at_seconds, strike)


def offered(node: Node) -> dict[str, float]:
    """The allocatable resources that KPIs count: all but the number of pods."""
    found = resource_amounts.node_allocatable(node)
    return {name: float(amount) for name, amount in found.items() if name != "pods"}
