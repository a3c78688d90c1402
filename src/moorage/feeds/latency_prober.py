"""The latency prober: measures round trips to other nodes and writes them to a ConfigMap.

1. List the nodes. Of those that are ready and have an address, choose a few of each zone.
2. Open a TCP connection to each, several times; the median is its round trip. A port that refuses
   the connection answers just as fast, so nothing needs to listen there. A node that does not
   answer is left out.
3. Write the median of each zone, or of each node, to the ConfigMap under this node's name, and
   remove the entries of nodes that no longer exist.
"""

import asyncio
import datetime
import random
from collections.abc import Awaitable, Callable, Iterable
from statistics import median
from typing import Final, Literal, NamedTuple

import msgspec

from moorage.api.node import Node
from moorage.clock import Clock
from moorage.feeds.latency_readers import CONFIG_MAP_MISSING, LatencyDocument
from moorage.feeds.readings import CONFIG_MAPS, FeedError
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import NODES
from moorage.watch.api_server import ApiServer

INTERNAL_IP: Final = "InternalIP"
DIGITS: Final = 3

RoundTrip = Callable[[str], Awaitable[float | None]]
"""Milliseconds to an address, or None if it does not answer in time."""


class ProbePlan(msgspec.Struct, frozen=True):
    """What to measure from which node, and where to write it."""

    node: str
    namespace: str
    config_map: str
    between: Literal["zones", "nodes"]
    topology_label: str
    per_zone: int
    tries: int


class ProbeTarget(NamedTuple):
    """A node to measure to."""

    node: str
    zone: str
    address: str


class Prober:
    """Measures from one node, in rounds."""

    def __init__(
        self,
        server: ApiServer,
        plan: ProbePlan,
        round_trip: RoundTrip,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._server = server
        self._plan = plan
        self._round_trip = round_trip
        self._clock = clock
        self._rng = rng

    async def measure(self) -> LatencyDocument:
        """Measure one round; raises a FeedError if nothing can be measured."""
        plan = self._plan
        nodes = await self._nodes()
        start = probe_origin(nodes, plan)
        found: dict[str, list[float]] = {}
        for target in choose_targets(nodes.values(), plan, self._rng):
            milliseconds = await self._to(target.address)
            if milliseconds is not None:
                end = target.zone if plan.between == "zones" else target.node
                found.setdefault(end, []).append(milliseconds)
        if not found:
            raise FeedError("no other node that is ready answers: look at --port, and at firewalls")
        row = {end: round(median(times), DIGITS) for end, times in found.items()}
        now = datetime.datetime.fromtimestamp(self._clock.now(), datetime.UTC)
        return LatencyDocument({start: row}, now)

    async def publish(self, document: LatencyDocument) -> None:
        """Write the result of a round under the node's name."""
        plan, where = self._plan, (self._plan.namespace, self._plan.config_map)
        try:
            written = await self._server.get(CONFIG_MAPS, *where)
            gone = (written.get("data") or {}).keys() - (await self._nodes()).keys()
            text = msgspec.json.encode(document).decode()
            data = {plan.node: text, **dict.fromkeys(sorted(gone))}
            await self._server.patch(CONFIG_MAPS, *where, {"data": data})
        except NotFound:
            raise FeedError(f"ConfigMap {'/'.join(where)}: {CONFIG_MAP_MISSING}") from None
        except ApiError as error:
            raise FeedError(f"ConfigMap {'/'.join(where)}: {error}") from None

    async def _nodes(self) -> dict[str, Node]:
        try:
            page = await self._server.list_page(NODES)
        except ApiError as error:
            raise FeedError(f"nodes cannot be listed: {error}") from None
        return {node.name: node for node in page.items if isinstance(node, Node)}

    async def _to(self, address: str) -> float | None:
        times = [await self._round_trip(address) for _ in range(self._plan.tries)]
        answered = [time for time in times if time is not None]
        return median(answered) if answered else None


def probe_origin(nodes: dict[str, Node], plan: ProbePlan) -> str:
    """Where latencies start: the prober's node, or its zone."""
    own = nodes.get(plan.node)
    if own is None:
        raise FeedError(f"there is no node {plan.node!r}: name the one this runs on with --node")
    if plan.between == "nodes":
        return own.name
    zone = own.labels.get(plan.topology_label, "")
    if not zone:
        raise FeedError(
            f"node {own.name} has no label {plan.topology_label}: give it one, or measure "
            "--between nodes"
        )
    return zone


def choose_targets(nodes: Iterable[Node], plan: ProbePlan, rng: random.Random) -> list[ProbeTarget]:
    """A few nodes of every zone, chosen at random."""
    by_zone: dict[str, list[ProbeTarget]] = {}
    for node in nodes:
        zone, address = node.labels.get(plan.topology_label, ""), address_of(node)
        if node.name != plan.node and address and is_ready(node):
            by_zone.setdefault(zone, []).append(ProbeTarget(node.name, zone, address))
    if plan.between == "zones":
        by_zone.pop("", None)
    return [
        target
        for _, targets in sorted(by_zone.items())
        for target in rng.sample(targets, min(plan.per_zone, len(targets)))
    ]


def address_of(node: Node) -> str:
    """The address at which other nodes reach this one, or ""."""
    found = (each.address for each in node.status.addresses if each.type == INTERNAL_IP)
    return next(found, "")


def is_ready(node: Node) -> bool:
    """Whether the node's Ready condition is True."""
    return any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)


def tcp_round_trip(port: int, seconds: float, now: Callable[[], float]) -> RoundTrip:
    """Measures how long it takes to open a connection, or to be refused."""

    async def round_trip(address: str) -> float | None:
        began = now()
        try:
            async with asyncio.timeout(seconds):
                _, writer = await asyncio.open_connection(address, port)
        except ConnectionRefusedError:
            return 1000 * (now() - began)
        except OSError:
            return None
        took = 1000 * (now() - began)
        writer.close()
        return took

    return round_trip
