"""Whose pods are on which node, kept up pod by pod."""

from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.interning import Interner
from moorage.cache.table import NodeTable

NOBODY: Final = 0
SEVERAL: Final = -1


class Occupants:
    """The owner of each node's pods.  sole: int32 (row), an id of `owners`, NOBODY or SEVERAL.

    `owner_of` tells whose a pod is; the empty name is nobody's. Pods come and go by `pod_log`, so
    trials are seen, and seen to end.
    """

    def __init__(self, owner_of: Callable[[Pod], str]) -> None:
        self._owner_of = owner_of
        self.owners: Interner[str] = Interner([""])
        self.sole: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._counts: dict[int, Counter[int]] = {}
        self._of_pod: dict[str, int] = {}
        """By uid, whose a counted pod is; it may have been labelled anew when it leaves."""
        self._version = -1

    def catch_up(self, table: NodeTable) -> NDArray[np.int32]:
        """The column, true for the pods as they are now."""
        if len(self.sole) < len(table.alive):
            self.sole = np.concatenate(
                (self.sole, np.zeros(len(table.alive) - len(self.sole), dtype=np.int32))
            )
        log = table.pod_log
        changes = log.since(self._version) if self._version >= 0 else None
        self._version = log.version
        if changes is None:
            self._recount(table)
        for row, pod, sign in changes or ():
            self._count(row, pod.pod, sign)
        return self.sole

    def _recount(self, table: NodeTable) -> None:
        self.sole.fill(NOBODY)
        self._counts.clear()
        self._of_pod.clear()
        for row, pods in enumerate(table.pods):
            for pod in pods.values():
                self._count(row, pod.pod, 1)

    def _count(self, row: int, pod: Pod, sign: int) -> None:
        if sign > 0:
            owner = self._of_pod[pod.uid] = self.owners.intern(self._owner_of(pod))
        else:
            owner = self._of_pod.pop(pod.uid, NOBODY)
        if owner == NOBODY:
            return
        counts = self._counts.setdefault(row, Counter())
        counts[owner] += sign
        if counts[owner] <= 0:
            del counts[owner]
        self.sole[row] = next(iter(counts), NOBODY) if len(counts) < 2 else SEVERAL
