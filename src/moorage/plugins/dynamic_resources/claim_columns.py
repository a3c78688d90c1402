"""What pods that ask for the same get on each node, kept between attempts.

Pods whose unallocated claims have equal specs share a column: for every row whether all claims can
be met there, and with which devices. Only rows are searched anew whose node, slices or taken
devices have changed.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.resource_claims import ResourceClaim
from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable
from moorage.devices.allocator import (
    STEPS_PER_SECOND,
    Allocator,
    Found,
    InvalidPoolsError,
    SearchTimeoutError,
)
from moorage.devices.device_cache import DeviceCache
from moorage.devices.feature_gates import DEFAULT, Features
from moorage.devices.node_pools import PoolsError
from moorage.devices.requests import AllocationError
from moorage.plugins.dynamic_resources.extended_resources import RequestMapping

FITS: Final = 0
CANNOT_ALLOCATE: Final = 1
UNAVAILABLE: Final = 2
INVALID_POOLS: Final = 3
STALE_EXTENDED: Final = 4
CANNOT_FIT: Final = 5
BROKEN: Final = 6

MOST_COLUMNS: Final = 256
MOST_ALTERNATIVES: Final = 8


class NodeQuestion(NamedTuple):
    """The claims to be met on a node, or the code with which it is refused without a search."""

    claims: Sequence[ResourceClaim]
    mappings: tuple[RequestMapping, ...] = ()
    code: int = FITS


class NodeAnswer(NamedTuple):
    """What was found on a node."""

    code: int
    found: tuple[Found, ...] = ()
    claims: Sequence[ResourceClaim] = ()
    mappings: tuple[RequestMapping, ...] = ()
    problem: str = ""


Ask = Callable[[Node], NodeQuestion]


class ClaimColumn:
    """Answers for every row; `codes` and `scores` of them as arrays."""

    def __init__(self, devices: DeviceCache, features: Features = DEFAULT) -> None:
        self._devices = devices
        self._features = features
        self._nodes: Follower[int] = Follower()
        self._changed: Follower[str | None] = Follower()
        self._classes = -1
        self._broken: set[int] = set()
        """Rows whose search failed: what it says of a claim is not to be said of another."""
        self.answers: list[NodeAnswer | None] = []
        self.codes: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.scores: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def catch_up(self, table: NodeTable, ask: Ask, filter_seconds: float) -> None:
        """Search the rows anew of which something has changed."""
        for row in self._stale_rows(table):
            node = table.nodes[row]
            answer = None if node is None else self._answer(node, ask(node), filter_seconds)
            self.answers[row] = answer
            self.codes[row] = FITS if answer is None else answer.code
            self.scores[row] = 0 if answer is None else score(answer.found)
            if answer is not None and answer.problem:
                self._broken.add(row)

    def _stale_rows(self, table: NodeTable) -> Sequence[int]:
        devices = self._devices
        nodes, changed = (
            self._nodes.missed(table.node_log),
            self._changed.missed(devices.inventory.changed),
        )
        same_classes = self._classes == devices.classes.version
        self._classes = devices.classes.version
        if (
            nodes is None
            or changed is None
            or None in changed
            or not same_classes
            or len(self.answers) != table.rows
        ):
            self._resize(table.rows)
            self._broken.clear()
            return range(table.rows)
        rows = {table.row_of.get(name, -1) for name in changed if name is not None}
        if not rows and not nodes and not self._broken:
            return ()
        stale = (rows | set(nodes) | self._broken) - {-1}
        self._broken.clear()
        return sorted(stale)

    def _resize(self, rows: int) -> None:
        self.answers = [None] * rows
        self.codes = np.zeros(rows, dtype=np.int32)
        self.scores = np.zeros(rows, dtype=np.int64)

    def _answer(self, node: Node, question: NodeQuestion, filter_seconds: float) -> NodeAnswer:
        if question.code or not question.claims:
            return NodeAnswer(question.code)
        devices = self._devices
        steps = filter_seconds * STEPS_PER_SECOND if filter_seconds > 0 else float("inf")
        try:
            pools = devices.pools.of(node, self._features)
            ledger, class_of = devices.claims.ledger, devices.classes.get
            allocator = Allocator(node, pools, ledger, class_of, steps, self._features)
            found = allocator.allocate(question.claims)
        except InvalidPoolsError:
            return NodeAnswer(INVALID_POOLS)
        except SearchTimeoutError:
            problem = f"node {node.name}: timed out trying to allocate devices"
            return NodeAnswer(BROKEN, problem=problem)
        except PoolsError as error:
            return NodeAnswer(BROKEN, problem=f"gather pool information: {error}")
        except AllocationError as error:
            return NodeAnswer(BROKEN, problem=str(error))
        if found is None:
            return NodeAnswer(CANNOT_ALLOCATE)
        return NodeAnswer(FITS, tuple(found), question.claims, question.mappings)


def score(found: Sequence[Found]) -> int:
    """How early in their lists the alternatives stand that were taken."""
    return sum(
        MOST_ALTERNATIVES - wanted.position
        for each in found
        for wanted in each.chosen
        if wanted.parent and any(pick.wanted is wanted for pick in each.picks)
    )


def column_of(devices: DeviceCache, asked: Hashable, features: Features) -> ClaimColumn:
    """The column of pods that ask for the same, by the same features."""
    key = features, asked
    found: ClaimColumn | None = devices.columns.get(key)
    if found is None:
        if len(devices.columns) >= MOST_COLUMNS:
            devices.columns.clear()
        found = devices.columns[key] = ClaimColumn(devices, features)
    return found
