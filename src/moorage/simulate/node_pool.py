"""The nodes of a run: they fail and are repaired, are reclaimed, are started and removed."""

import copy
import random
from collections.abc import Callable, Iterable, Mapping

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
    """Puts nodes in and takes them away.

    `coming` names those that are certain to come yet, or to come again; `came` those that came
    since it was cleared, and `came_again` says whether one of them did so twice. A node that comes
    again is another one in `present`: what was to become of the one before does not befall it.
    """

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
        self.coming: set[str] = set()
        self.came: set[str] = set()
        self.came_again = False
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
        """A node is there, empty."""
        each = copy.copy(each)
        node = each.node
        self.came_again = self.came_again or node.name in self.came
        self.came.add(node.name)
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
            mean = each.spot.mean_seconds
            self._in(rng.expovariate(1 / mean), each, lambda: self._reclaim(each))

    def forget_who_came(self) -> None:
        """Something has changed since: nodes that come again may be of use again."""
        self.came.clear()
        self.came_again = False

    def held_on(self, name: str) -> Mapping[str, float]:
        """What the pods on a node ask for."""
        return self._meter.totals.held_on(name)

    def leave(self, name: str) -> None:
        """Remove a node; it must hold no pods."""
        del self.present[name]
        self._server.remove(NODES, name)
        self._meter.node_left(self._clock.now(), name)

    def join_at(self, when: float, each: PricedNode) -> None:
        """A node will be there at that time."""
        self.coming.add(each.node.name)

        def arrive() -> None:
            self.coming.remove(each.node.name)
            self.join(each)

        self._clock.call_at(when, arrive)

    def _reclaim(self, each: PricedNode) -> None:
        """Give notice: cordon the node, stop its pods, and take it away when notice is over."""
        spot, name = each.spot or Spot(), each.node.name
        if spot.replace_seconds is not None:
            self.coming.add(name)
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
            self.join_at(self._clock.now() + again_seconds, each)

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
            struck = [
                each.node.name
                for each in nodes
                if each.spot is not None and each_storm in each.spot.storms
            ]
            rng = random.Random(f"{self._seed}/storm/{each_storm.at_seconds}")
            chosen = rng.sample(struck, round(each_storm.share * len(struck)))

            def strike(chosen: list[str] = chosen) -> None:
                for name in chosen:
                    if name in self.present:
                        self._reclaim(self.present[name])

            self._clock.call_at(self._start + each_storm.at_seconds, strike)


def offered(node: Node) -> dict[str, float]:
    """The allocatable resources that KPIs count: all but the number of pods."""
    found = resource_amounts.node_allocatable(node)
    return {name: float(amount) for name, amount in found.items() if name != "pods"}
