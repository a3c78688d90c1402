"""Features that are off unless their gates are opened, by kube-scheduler's gate names."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Features(NamedTuple):
    """Features beyond those that kube-scheduler has on by default."""

    compatibility_groups: bool = False
    """Devices that share counters are allocated together only if they have a common group."""
    list_attributes: bool = False
    """Constraints compare attributes that are lists."""
    workload_claims: bool = False
    """Claims of a pod group are the group's, and are reserved for it."""


GATES: Final[Mapping[str, str]] = {
    "DRADeviceCompatibilityGroups": "compatibility_groups",
    "DRAListTypeAttributes": "list_attributes",
    "DRAWorkloadResourceClaims": "workload_claims",
}
"""The gates, each with the field of `Features` that it opens."""

DEFAULT: Final = Features()


def features_of(gates: Mapping[str, bool]) -> Features:
    """The features whose gates are open; gates of other features are ignored."""
    return Features(**{GATES[gate]: is_open for gate, is_open in gates.items() if gate in GATES})
