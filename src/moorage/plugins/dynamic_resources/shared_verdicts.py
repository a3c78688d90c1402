"""Search results on each node, shared by requests that differ only in names.

Dozens of extended resources are often backed by classes that select the same devices. Whether a
node has them is searched once for all of these pods. Which devices a pod gets is searched only on
its own node, in Reserve.
"""

from collections.abc import Hashable, Set
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.table import NodeTable
from moorage.devices.device_cache import DeviceCache
from moorage.devices.stale_rows import StaleRows

MOST_KEPT: Final = 256


class Verdict(NamedTuple):
    """The code of a node, and its score."""

    code: int
    score: int


class SharedVerdicts:
    """The verdict of each row, as long as nothing has changed there."""

    def __init__(self, devices: DeviceCache) -> None:
        self._stale = StaleRows(devices)
        self._is_known: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._codes: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._scores: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def catch_up(self, table: NodeTable) -> None:
        """Forget the verdicts of rows for which something has changed."""
        self._stale.read(table, lambda missed: self._forget(table, missed))

    def _forget(self, table: NodeTable, missed: Set[int] | None) -> None:
        if missed is None:
            self._is_known = np.zeros(table.rows, dtype=np.bool_)
            self._codes = np.zeros(table.rows, dtype=np.int32)
            self._scores = np.zeros(table.rows, dtype=np.int64)
        elif missed:
            self._is_known[list(missed)] = False

    def get(self, row: int) -> Verdict | None:
        if not self._is_known[row]:
            return None
        return Verdict(int(self._codes[row]), int(self._scores[row]))

    def put(self, row: int, verdict: Verdict) -> None:
        self._codes[row], self._scores[row] = verdict
        self._is_known[row] = True


def shared_verdicts(devices: DeviceCache, key: Hashable) -> SharedVerdicts:
    """The verdicts for a key; made on first use."""
    kept: dict[Hashable, SharedVerdicts] = devices.verdicts
    found = kept.get(key)
    if found is None:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        found = kept[key] = SharedVerdicts(devices)
    return found
