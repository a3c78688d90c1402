"""Reads node usage from metrics.k8s.io, as metrics-server serves it."""

import datetime
from typing import Any, Final

import msgspec

from moorage.api import quantity
from moorage.api.quantity import QuantityError
from moorage.clock import Clock
from moorage.feeds.readings import FeedError, Usages
from moorage.policies.telemetry.node_measurements import Usage
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer

NODE_METRICS: Final = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", False)

NOT_SERVED: Final = "metrics.k8s.io is not served: install metrics-server, or name a metricProvider"
NOT_ALLOWED: Final = "metrics.k8s.io may not be read: add the component deploy/components/metrics"


class _Metadata(msgspec.Struct, frozen=True):
    name: str


class NodeMetrics(msgspec.Struct, frozen=True):
    """The usage of one node."""

    metadata: _Metadata
    usage: dict[str, str | int | float] = {}
    timestamp: datetime.datetime | None = None


class _List(msgspec.Struct, frozen=True):
    items: list[NodeMetrics] = []


class MetricsServerUsage:
    """Reads the usage of all nodes in one request."""

    def __init__(self, server: ApiServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    async def read(self) -> Usages:
        """The usage of every node."""
        try:
            listed = await self._server.get(NODE_METRICS, "", "")
        except NotFound:
            raise FeedError(NOT_SERVED) from None
        except Forbidden as error:
            raise FeedError(f"{NOT_ALLOWED} ({error})") from None
        except ApiError as error:
            raise FeedError(str(error)) from None
        return usages_from_list(listed, self._clock.now())

    async def close(self) -> None:
        """Nothing is held open."""


def usages_from_list(listed: dict[str, Any], now: float) -> Usages:
    """A NodeMetricsList as usages; without a timestamp, measured now."""
    try:
        items = msgspec.convert(listed, _List).items
    except msgspec.ValidationError as error:
        raise FeedError(f"metrics.k8s.io answers something else: {error}") from None
    return Usages({item.metadata.name: usage_of_node(item, now) for item in items})


def usage_of_node(item: NodeMetrics, now: float) -> Usage:
    """The usage of one node, in millicores and bytes."""
    at = item.timestamp.timestamp() if item.timestamp is not None else now
    try:
        cpu = quantity.milli_value(str(item.usage.get("cpu", "0")))
        memory = quantity.value(str(item.usage.get("memory", "0")))
    except QuantityError as error:
        raise FeedError(f"NodeMetrics {item.metadata.name}: usage: {error}") from None
    return Usage(float(cpu), float(memory), at)
