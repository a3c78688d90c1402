"""Spread: how evenly the pods of a workload are spread over the zones of the cluster."""

from collections.abc import Mapping, Set
from typing import TypeVar

Zone = TypeVar("Zone")


def is_spread(counts: Mapping[Zone, int], zones: Set[Zone], max_skew: int) -> bool:
    """Whether no zone holds more than `max_skew` pods more than another."""
    held = [counts.get(zone, 0) for zone in zones]
    return not held or max(held) - min(held) <= max_skew


class SpreadKept:
    """Checks a workload's spread each time one of its pods is placed.

    Only workloads of several pods count, and only clusters of several zones.
    """

    def __init__(self, max_skew: int) -> None:
        self._max_skew = max_skew
        self._zones: dict[str, int] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._looks = self._kept = 0

    def zone_joined(self, zone: str) -> None:
        """A node of that zone joined."""
        if zone:
            self._zones[zone] = self._zones.get(zone, 0) + 1

    def zone_left(self, zone: str) -> None:
        """A node of that zone left."""
        if zone:
            self._zones[zone] -= 1
            if not self._zones[zone]:
                del self._zones[zone]

    def placed(self, workload: str, zone: str) -> None:
        """A pod of a workload runs in a zone from now on."""
        if not (workload and zone):
            return
        counts = self._counts.setdefault(workload, {})
        counts[zone] = counts.get(zone, 0) + 1
        if len(self._zones) > 1 and sum(counts.values()) > 1:
            self._looks += 1
            self._kept += is_spread(counts, self._zones.keys(), self._max_skew)

    def left(self, workload: str, zone: str) -> None:
        """A pod of a workload no longer runs in a zone."""
        if not (workload and zone):
            return
        counts = self._counts[workload]
        counts[zone] -= 1
        if not counts[zone]:
            del counts[zone]
        if not counts:
            del self._counts[workload]

    def share(self) -> float | None:
        """The share of checks that found the workload spread; None without checks."""
        return self._kept / self._looks if self._looks else None
