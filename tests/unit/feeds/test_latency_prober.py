"""How long it takes from one node to others: whom to measure to, what is written, what is said."""

import asyncio
import random
import time
from typing import Any, Literal

import pytest

from moorage.clock import VirtualClock
from moorage.feeds import latency_prober, latency_readers
from moorage.feeds.latency_prober import ProbePlan, Prober
from moorage.feeds.latency_readers import CONFIG_MAP_MISSING
from moorage.feeds.readings import CONFIG_MAPS, FeedError
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import NodeBuilder, node
from moorage.watch.api_resources import NODES
from tests.unit.feeds.fakes import NOW

ZONE = "topology.kubernetes.io/zone"
WHERE = ("moorage-system", "moorage-latencies")


def plan(between: Literal["zones", "nodes"] = "zones", **more: Any) -> ProbePlan:
    given = {"node": "a1", "per_zone": 3, "tries": 3, "topology_label": ZONE, **more}
    return ProbePlan(between=between, namespace=WHERE[0], config_map=WHERE[1], **given)


def reachable(name: str, address: str, *, ready: str = "True") -> NodeBuilder:
    """A node in the zone its name begins with."""
    made = node(name).in_zone(name[0])
    made.raw["status"]["addresses"] = [
        {"type": "Hostname", "address": name},
        {"type": "InternalIP", "address": address},
    ]
    made.raw["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    return made


NODES_OF_TWO_ZONES = (
    reachable("a1", "10.0.0.1"),
    reachable("a2", "10.0.0.2"),
    reachable("b1", "10.0.1.1"),
    reachable("b2", "10.0.1.2"),
    reachable("b3", "10.0.1.3", ready="False"),
    node("b4").in_zone("b"),
)
Times = dict[str, list[float | None]]
TIMES: Times = {
    "10.0.0.2": [0.3, 0.2, 9.0],
    "10.0.1.1": [2.0, 2.0, 2.0],
    "10.0.1.2": [4.0, None, 4.0],
}


class World:
    """A cluster, and a network in which every connection takes as long as the test says."""

    def __init__(self, *nodes: NodeBuilder, times: Times) -> None:
        self.cluster = MemoryCluster(clock=VirtualClock(NOW), rng=random.Random(0))
        for made in nodes:
            self.cluster.add(NODES, made.raw)
        self.times = {address: list(found) for address, found in times.items()}

    async def round_trip(self, address: str) -> float | None:
        found = self.times[address]
        return found.pop(0) if found else None

    def prober(self, plan: ProbePlan) -> Prober:
        rng = random.Random(0)
        return Prober(self.cluster, plan, self.round_trip, VirtualClock(NOW), rng)

    def measure(self, plan: ProbePlan) -> dict[str, dict[str, float]]:
        return asyncio.run(self.prober(plan).measure()).latencies

    def written(self) -> dict[str, str]:
        found: dict[str, str] = self.cluster.read(CONFIG_MAPS, *WHERE)["data"]
        return found


def two_zones() -> World:
    return World(*NODES_OF_TWO_ZONES, times=TIMES)


def test_the_median_of_each_zone_is_measured_from_ones_own() -> None:
    """To nodes that are ready, have an address and are not this one."""
    assert two_zones().measure(plan()) == {"a": {"a": 0.3, "b": 3.0}}


def test_or_that_of_each_node() -> None:
    assert two_zones().measure(plan("nodes")) == {"a1": {"a2": 0.3, "b1": 2.0, "b2": 4.0}}


def test_no_more_than_some_nodes_of_a_zone_are_asked() -> None:
    (row,) = two_zones().measure(plan("nodes", per_zone=1)).values()

    assert len(row) == 2
    assert "a2" in row


def test_who_does_not_answer_is_left_out() -> None:
    silent: Times = {"10.0.0.2": [], "10.0.1.1": [], "10.0.1.2": [1.0]}

    assert World(*NODES_OF_TWO_ZONES, times=silent).measure(plan()) == {"a": {"b": 1.0}}


def test_what_was_measured_is_written_under_the_nodes_name_and_read_again() -> None:
    world = two_zones()
    kept = {"b1": '{"latencies": {"b": {"a": 2.0}}}', "gone": "anything"}
    metadata = {"namespace": WHERE[0], "name": WHERE[1]}
    world.cluster.add(CONFIG_MAPS, {"metadata": metadata, "data": kept})

    async def story() -> None:
        prober = world.prober(plan())
        await prober.publish(await prober.measure())

    asyncio.run(story())

    assert world.written().keys() == {"a1", "b1"}
    documents = [
        latency_readers.parse_latencies(text, name) for name, text in world.written().items()
    ]
    assert latency_readers.merge_latencies(documents, NOW, 600.0).found == {
        ("a", "a"): (0.3, NOW),
        ("a", "b"): (3.0, NOW),
        ("b", "a"): (2.0, NOW),
    }


def test_a_config_map_that_is_not_there_is_said_with_the_remedy() -> None:
    world = two_zones()

    async def story() -> None:
        prober = world.prober(plan())
        await prober.publish(await prober.measure())

    with pytest.raises(FeedError) as caught:
        asyncio.run(story())
    assert str(caught.value) == f"ConfigMap {'/'.join(WHERE)}: {CONFIG_MAP_MISSING}"


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        pytest.param([], "there is no node 'a1'", id="on a node that is not there"),
        pytest.param([node("a1")], f"node a1 has no label {ZONE}", id="on a node without a zone"),
        pytest.param(
            [reachable("a1", "10.0.0.1")], "no other node that is ready answers", id="alone"
        ),
    ],
)
def test_where_nothing_can_be_measured_it_says_why(nodes: list[NodeBuilder], want: str) -> None:
    with pytest.raises(FeedError, match=want):
        World(*nodes, times={}).measure(plan())


def test_a_connection_is_timed_whether_it_is_taken_or_refused() -> None:
    async def story() -> tuple[float | None, float | None, float | None]:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        taken = await latency_prober.tcp_round_trip(port, 5.0, time.perf_counter)("127.0.0.1")
        server.close()
        await server.wait_closed()
        refused = await latency_prober.tcp_round_trip(port, 5.0, time.perf_counter)("127.0.0.1")
        return (
            taken,
            refused,
            await latency_prober.tcp_round_trip(port, 5.0, time.perf_counter)("256.0.0.1"),
        )

    taken, refused, nowhere = asyncio.run(story())

    assert taken is not None
    assert refused is not None
    assert taken > 0 < refused
    assert nowhere is None
