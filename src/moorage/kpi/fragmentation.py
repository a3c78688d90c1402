"""Fragmentation: the share of idle resources that typical pods cannot use where they are."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.kpi.settings import TypicalPod

Floats = NDArray[np.float64]


class Fragmentation:
    """Idle amounts of nodes; computed again only for nodes that changed.

    For a resource, only typical pods that request it count. An idle amount is unusable for a pod
    that does not fit on its node, for want of this or any other resource. The unusable share is the
    weight of the pods that do not fit. Taints, selectors and other rules do not count.
    """

    def __init__(self, typical: Sequence[TypicalPod]) -> None:
        self._resources = sorted({name for pod in typical for name in pod.requests})
        self._index = {name: i for i, name in enumerate(self._resources)}
        self._asked = np.array(
            [[pod.requests.get(name, 0.0) for name in self._resources] for pod in typical]
        ).reshape(len(typical), len(self._resources))
        asks = (self._asked > 0) * np.array([pod.weight for pod in typical])[:, None]
        total = asks.sum(axis=0)
        self._weights = asks / np.where(total > 0, total, 1.0)  # (pod, resource)
        self._rows: dict[str, int] = {}
        self._idle = np.zeros((0, len(self._resources)))
        self._lost = np.zeros((0, len(self._resources)))
        self._changed: set[int] = set()

    def node_joined(self, name: str, allocatable: Mapping[str, float]) -> None:
        """An empty node joined."""
        row = self._rows.setdefault(name, len(self._rows))
        if row == len(self._idle):
            more = np.zeros((max(16, row), len(self._resources)))
            self._idle = np.vstack((self._idle, more))
            self._lost = np.vstack((self._lost, more))
        self._idle[row] = [allocatable.get(each, 0.0) for each in self._resources]
        self._changed.add(row)

    def node_left(self, name: str) -> None:
        """A node left; nothing of it is idle any more."""
        row = self._rows[name]
        self._idle[row] = 0.0
        self._changed.add(row)

    def shift(self, name: str, requests: Mapping[str, float], sign: int) -> None:
        """A pod came to a node (1) or left it (-1)."""
        if not self._index:
            return
        row = self._rows[name]
        for resource, amount in requests.items():
            column = self._index.get(resource)
            if column is not None:
                self._idle[row, column] -= sign * amount
        self._changed.add(row)

    def shares(self) -> dict[str, float]:
        """The unusable share of idle amounts, by resource that is idle and requested."""
        if self._changed:
            rows = np.fromiter(self._changed, dtype=np.int64)
            self._lost[rows] = self._unusable(self._idle[rows])
            self._changed.clear()
        idle, lost = self._idle.sum(axis=0), self._lost.sum(axis=0)
        return {
            name: float(lost[i] / idle[i])
            for i, name in enumerate(self._resources)
            if idle[i] > 0 and self._weights[:, i].any()
        }

    def _unusable(self, idle: Floats) -> Floats:
        """The idle amounts lost to typical pods.  float64 (node, resource)"""
        misfits = (idle[:, None, :] < self._asked[None, :, :]).any(axis=2)  # (node, pod)
        lost: Floats = (misfits.astype(np.float64) @ self._weights) * idle
        return lost
