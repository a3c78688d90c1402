"""QuietRacks: pods that need quiet stay off loud racks, and everyone prefers quiet ones.

Nodes say how loud their rack is by a label, `example.com/noise: "0"` to `"100"`; pods ask for quiet
by the label `example.com/quiet: "true"`.
"""

from collections.abc import Hashable
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage import (
    MAX_SCORE,
    Action,
    ClusterEvent,
    Cycle,
    Depends,
    EventHint,
    Filter,
    Nodes,
    Pod,
    Rejection,
    Resource,
    Score,
    unresolvable,
)

TOO_LOUD = "node(s) were on too loud a rack"
QUIET = "example.com/quiet"

Noise = Annotated[int, msgspec.Meta(ge=0, le=100)]


class QuietRacks(Filter, Score, frozen=True):
    """The vector form: all nodes in one pass, and again only those whose labels changed."""

    label: str = "example.com/noise"
    loudest: Noise = 50

    depends = Depends.NODE

    def sign(self, cycle: Cycle) -> Hashable:
        return cycle.pod.labels.get(QUIET) == "true"

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if pod.labels.get(QUIET) == "true":
            out[self._noise(nodes) > self.loudest] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_LOUD)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        out[:] = MAX_SCORE - self._noise(nodes)

    def events(self) -> tuple[EventHint, ...]:
        """A refused pod is worth another try when a node came, or its labels changed."""
        action = Action.ADD | Action.UPDATE_NODE_LABEL
        return (EventHint(ClusterEvent(Resource.NODE, action)),)

    def _noise(self, nodes: Nodes) -> NDArray[np.int64]:
        """By node; one without the label makes none.  int64 (node)"""
        values = nodes.table.label(self.label).values.values
        by_value = np.array([_level(value) for value in values], dtype=np.int64)
        return by_value[nodes.label(self.label)]


def _level(value: str | None) -> int:
    return min(int(value), MAX_SCORE) if value is not None and value.isdecimal() else 0
