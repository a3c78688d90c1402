"""What nodes cost: node-hours times price, while they hold pods and while they exist."""

from collections.abc import Mapping
from math import fsum
from typing import TypeVar

Name = TypeVar("Name")
HOUR = 3600.0
_LEAST_SHARE = 1e-9
"""The least share of a pod, so that a node's whole price is always divided among its pods."""


class _Node:
    __slots__ = ("charged", "offered", "pods", "price", "seconds", "shares", "since")

    def __init__(self, now: float, price: float, offered: Mapping[str, float]) -> None:
        self.since = self.charged = now
        self.seconds = 0.0
        self.price = price
        self.offered = offered
        self.pods = 0
        self.shares: dict[str, float] = {}


class NodeCosts:
    """The nodes that exist, the nodes that hold pods, and the tenants who pay for them."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._used: set[str] = set()
        self._in_use = self._in_use_seconds = self._in_use_since = 0.0
        self._provisioned: list[float] = []
        self._spent: dict[str, float] = {}
        self._peak = 0

    def begin(self, now: float) -> None:
        """Start counting at `now`."""
        self._in_use_since = now
        for node in self._nodes.values():
            node.since = node.charged = now

    @property
    def in_use(self) -> int:
        """How many nodes hold pods now."""
        return int(self._in_use)

    @property
    def present(self) -> int:
        """How many nodes exist now."""
        return len(self._nodes)

    @property
    def used(self) -> int:
        """How many nodes have held pods at any time."""
        return len(self._used)

    @property
    def peak(self) -> int:
        """The most nodes that held pods at the same time."""
        return self._peak

    def hourly(self) -> float:
        """What the nodes that hold pods now cost per hour."""
        return fsum(node.price for node in self._nodes.values() if node.pods)

    def node_joined(
        self, now: float, name: str, price: float, offered: Mapping[str, float]
    ) -> None:
        """An empty node joined; `price` is per hour."""
        self._nodes[name] = _Node(now, price, offered)

    def node_left(self, now: float, name: str) -> None:
        """A node left; its pods were removed before."""
        node = self._nodes.pop(name)
        self._provisioned.append((now - node.since) / HOUR * node.price)

    def pod_came(self, now: float, name: str, tenant: str, asked: Mapping[str, float]) -> None:
        """A pod of a tenant came to a node."""
        node = self._nodes[name]
        if not node.pods:
            self._used.add(name)
            self._count(now, 1)
        self._charge(now, node)
        node.pods += 1
        node.shares[tenant] = node.shares.get(tenant, 0.0) + share_of_node(asked, node.offered)

    def pod_left(self, now: float, name: str, tenant: str, asked: Mapping[str, float]) -> None:
        """A pod of a tenant left a node."""
        node = self._nodes[name]
        self._charge(now, node)
        node.pods -= 1
        node.shares[tenant] -= share_of_node(asked, node.offered)
        if not node.pods:
            node.shares.clear()
            self._count(now, -1)

    def settle(self, now: float) -> None:
        """Charge all tenants up to now."""
        for node in self._nodes.values():
            self._charge(now, node)
        self._count(now, 0)

    def cost(self) -> float:
        """The cost settled so far."""
        return fsum(self._spent.values())

    def by_tenant(self) -> dict[str, float]:
        """The cost settled so far, by tenant."""
        return {tenant: self._spent[tenant] for tenant in sorted(self._spent)}

    def provisioned(self, now: float) -> float:
        """What all nodes cost while they existed, with or without pods."""
        still = ((now - node.since) / HOUR * node.price for node in self._nodes.values())
        return fsum((*self._provisioned, *still))

    def mean_in_use(self, seconds: float) -> float:
        """The mean number of nodes that held pods over so many seconds."""
        return self._in_use_seconds / seconds if seconds else self._in_use

    def _count(self, now: float, change: int) -> None:
        self._in_use_seconds += self._in_use * (now - self._in_use_since)
        self._in_use_since = now
        self._in_use += change
        self._peak = max(self._peak, int(self._in_use))

    def _charge(self, now: float, node: _Node) -> None:
        """Divide the price since the last change among the tenants on the node."""
        passed = now - node.charged
        node.charged = now
        if not (node.pods and node.price and passed > 0):
            return
        price, whole = passed / HOUR * node.price, sum(node.shares.values())
        for tenant, share in node.shares.items():
            self._spent[tenant] = self._spent.get(tenant, 0.0) + price * share / whole


def share_of_node(asked: Mapping[Name, float], offered: Mapping[Name, float]) -> float:
    """The largest share of a resource of the node that is requested."""
    most = _LEAST_SHARE
    for name, amount in asked.items():
        room = offered.get(name)
        if room and amount > most * room:
            most = amount / room
    return most
