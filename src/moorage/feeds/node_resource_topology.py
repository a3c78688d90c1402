"""Reads NodeResourceTopologies (topology.node.k8s.io): what is free in each NUMA zone of a node.

If they are not served, there is nothing to read, and that is no error.
"""

import logging
from typing import Any, Final

import msgspec

from moorage.api import quantity
from moorage.api.annotations import read_int
from moorage.api.quantity import QuantityError
from moorage.feeds.readings import FeedError
from moorage.policies.gpu import numa_domains
from moorage.policies.gpu.numa_domains import NodeZones
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer

TOPOLOGIES: Final = Resource(
    "topology.node.k8s.io", "v1alpha2", "noderesourcetopologies", "NodeResourceTopology", False
)
NOT_ALLOWED: Final = (
    "NodeResourceTopologies may not be read: add the component deploy/components/topology"
)
_NODE: Final = "Node"
_log: Final = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    resourceVersion: str = ""


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""
    available: str | int = 0
    allocatable: str | int = 0


class _Zone(msgspec.Struct, frozen=True):
    name: str = ""
    type: str = ""
    resources: tuple[_Resource, ...] = ()


class _Topology(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    zones: tuple[_Zone, ...] = ()


class _List(msgspec.Struct, frozen=True):
    items: tuple[dict[str, Any], ...] = ()


class TopologyZones(msgspec.Struct, frozen=True):
    """What is free in each zone, by node."""

    found: dict[str, NodeZones]

    def write(self, shared: dict[str, Any]) -> None:
        numa_domains.served_zones(shared).put(self.found)

    @property
    def values(self) -> object:
        return self.found


class TopologyReader:
    """Reads the zones of all nodes in one request."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def read(self) -> TopologyZones:
        try:
            listed = await self._server.get(TOPOLOGIES, "", "")
        except NotFound:
            return TopologyZones({})
        except Forbidden as error:
            raise FeedError(f"{NOT_ALLOWED} ({error})") from None
        except ApiError as error:
            raise FeedError(str(error)) from None
        return zones_from_list(listed)

    async def close(self) -> None:
        """Nothing is held open."""


def zones_from_list(listed: dict[str, Any]) -> TopologyZones:
    """A NodeResourceTopologyList as zones; raises a FeedError if it is none.

    An item that cannot be read is left out alone: its node is as one without a report.
    """
    try:
        items = msgspec.convert(listed, _List).items
    except msgspec.ValidationError as error:
        raise FeedError(f"topology.node.k8s.io answers something else: {error}") from None
    found = {}
    for raw in items:
        try:
            item = msgspec.convert(raw, _Topology)
            found[item.metadata.name] = _zones(item)
        except (msgspec.ValidationError, QuantityError) as error:
            _log.warning("a NodeResourceTopology is left out: %s", error)
    return TopologyZones(found)


def _zones(item: _Topology) -> NodeZones:
    zones = sorted((zone for zone in item.zones if zone.type == _NODE), key=_place)
    free = tuple({one.name: _amount(one.available) for one in zone.resources} for zone in zones)
    offered = [{one.name: _amount(one.allocatable) for one in zone.resources} for zone in zones]
    told = tuple(offered) if any(any(zone.values()) for zone in offered) else ()
    return NodeZones(free, item.metadata.resourceVersion or str(hash(item)), told)


def _amount(said: str | int) -> int:
    return quantity.value(str(said))


def _place(zone: _Zone) -> int:
    """`node-1` is the second zone: zones have the numbers of the devices' NUMA domains."""
    number = zone.name.rpartition("-")[2]
    return read_int(number) or 0
