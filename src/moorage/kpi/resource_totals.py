"""Resources of a cluster over time: how much is allocated and used, how evenly over its nodes."""

import math
from collections.abc import Mapping

import msgspec


class Meaned(msgspec.Struct, frozen=True):
    """One resource: its means over time, its highest share, and its share at the end.

    A resource with no capacity has no share.
    """

    allocation: float | None
    utilisation: float | None
    balance: float | None
    peak: float
    end: float | None


class _Total:
    """One resource of all nodes, and its integrals over time."""

    __slots__ = (
        "capacity", "capacity_area", "imbalance_area", "nodes", "peak", "requested",
        "requested_area", "seconds", "since", "squares", "sum", "used", "used_area",
    )  # fmt: skip

    def __init__(self, now: float) -> None:
        self.since = now
        self.capacity = self.requested = self.used = 0.0
        self.nodes = 0
        self.sum = self.squares = 0.0
        self.capacity_area = self.requested_area = self.used_area = 0.0
        self.imbalance_area = self.seconds = self.peak = 0.0

    def advance(self, now: float) -> None:
        passed = now - self.since
        if passed <= 0:
            return
        self.since = now
        self.capacity_area += self.capacity * passed
        self.requested_area += self.requested * passed
        self.used_area += self.used * passed
        nodes = self.nodes
        if nodes:
            mean = self.sum / nodes
            variance = self.squares / nodes - mean * mean
            if variance > 0.0:
                self.imbalance_area += math.sqrt(variance) * passed
            self.seconds += passed

    def deviation(self) -> float:
        """The standard deviation of the nodes' allocated shares."""
        mean = self.sum / self.nodes
        return math.sqrt(max(0.0, self.squares / self.nodes - mean * mean))

    def shift(self, before: float, after: float) -> None:
        """A node's allocated share has changed."""
        self.sum += after - before
        self.squares += after * after - before * before

    def look(self) -> None:
        """Update the peak share."""
        if self.capacity and self.requested > self.peak * self.capacity:
            self.peak = self.requested / self.capacity

    def share(self) -> float | None:
        return self.requested / self.capacity if self.capacity else None


class ResourceTotals:
    """Every resource. The caller gives the times at which nodes and pods come and go."""

    def __init__(self) -> None:
        self._totals: dict[str, _Total] = {}
        self._offered: dict[str, Mapping[str, float]] = {}
        self._held: dict[str, dict[str, float]] = {}

    def begin(self, now: float) -> None:
        """Start counting at `now`, from the state that earlier changes have left."""
        for total in self._totals.values():
            total.since = now

    @property
    def capacity(self) -> dict[str, float]:
        """The capacity of all nodes together."""
        return {name: total.capacity for name, total in self._totals.items()}

    def node_joined(self, now: float, node: str, allocatable: Mapping[str, float]) -> None:
        """An empty node joined."""
        self._offered[node] = allocatable
        self._held[node] = dict.fromkeys(allocatable, 0.0)
        for name, amount in allocatable.items():
            total = self._total(name, now)
            total.capacity += amount
            total.nodes += amount > 0

    def node_left(self, now: float, node: str) -> None:
        """A node left; its pods were removed before."""
        held = self._held.pop(node)
        for name, amount in self._offered.pop(node).items():
            total = self._total(name, now)
            total.capacity -= amount
            if amount > 0:
                total.nodes -= 1
                total.shift(held[name] / amount, 0.0)
            total.look()

    def shift(
        self, now: float, node: str, requests: Mapping[str, float], sign: int, usage: float
    ) -> None:
        """A pod came to a node (1) or left it (-1)."""
        offered, held, totals = self._offered[node], self._held[node], self._totals
        for name, asked in requests.items():
            amount = sign * asked
            total = totals.get(name)
            if total is None:
                total = self._total(name, now)
            elif total.since < now:
                total.advance(now)
            total.requested += amount
            total.used += amount * usage
            if amount > 0:
                total.look()
            room = offered.get(name, 0.0)
            before = held.get(name, 0.0)
            held[name] = before + amount
            if room > 0:
                was, share = before / room, (before + amount) / room
                total.sum += share - was
                total.squares += share * share - was * was

    def has_room(self, node: str, requests: Mapping[str, float]) -> bool:
        """Whether a node exists and has room for these requests, too."""
        offered, held = self._offered.get(node), self._held.get(node)
        if offered is None or held is None:
            return False
        for name, amount in requests.items():
            if held.get(name, 0.0) + amount > offered.get(name, 0.0):
                return False
        return True

    def held_on(self, node: str) -> Mapping[str, float]:
        """The requests of the pods on a node; empty if the node does not exist."""
        return self._held.get(node, {})

    def fills(self) -> list[float]:
        """How full each node is: the largest held share of any of its resources."""
        return [
            max(
                (held.get(name, 0.0) / room for name, room in self._offered[node].items() if room),
                default=0.0,
            )
            for node, held in self._held.items()
        ]

    def shares(self) -> dict[str, float]:
        """The share of each resource that is allocated now, if it has any capacity."""
        found = ((name, total.share()) for name, total in self._totals.items())
        return {name: share for name, share in found if share is not None}

    def means(self, end: float) -> dict[str, Meaned]:
        """Every resource over the whole time."""
        for total in self._totals.values():
            total.advance(end)
        return {name: _meaned(total) for name, total in sorted(self._totals.items())}

    def _total(self, name: str, now: float) -> _Total:
        total = self._totals.get(name)
        if total is None:
            total = self._totals[name] = _Total(now)
        else:
            total.advance(now)
        return total


def _meaned(total: _Total) -> Meaned:
    now = total.share()
    if not total.capacity_area:
        used = total.used / total.capacity if total.capacity else None
        even = 1.0 - total.deviation() if total.nodes else None
        return Meaned(now, used, even, total.peak, now)
    return Meaned(
        total.requested_area / total.capacity_area,
        total.used_area / total.capacity_area,
        1.0 - total.imbalance_area / total.seconds if total.seconds else None,
        total.peak,
        now,
    )
