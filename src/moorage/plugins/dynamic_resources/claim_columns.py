"""What pods with equal claims get on each node, kept between attempts.

Pods whose unallocated claims have equal specs share a column. It tells for every row whether all
claims can be allocated there, and with which devices. A row is searched anew only if its node, its
slices or its taken devices have changed. Requests that differ only in names share the search.

When the attempt's budget is spent, the rows that are left are refused for now, and are searched
first by the next attempt. The row in which it was spent then comes last.
"""

import math
from collections.abc import Callable, Hashable, Sequence, Set
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.resource_claims import ResourceClaim
from moorage.cache.table import NodeTable
from moorage.devices.allocator import Allocator, Found, InvalidPoolsError
from moorage.devices.device_cache import DeviceCache
from moorage.devices.feature_gates import DEFAULT, Features
from moorage.devices.node_pools import PoolsError
from moorage.devices.requests import AllocationError
from moorage.devices.stale_rows import StaleRows
from moorage.devices.work_budget import OverBudgetError, WorkBudget
from moorage.plugins.dynamic_resources.extended_resources import RequestMapping
from moorage.plugins.dynamic_resources.shared_verdicts import (
    SharedVerdicts,
    Verdict,
    shared_verdicts,
)

FITS: Final = 0
CANNOT_ALLOCATE: Final = 1
UNAVAILABLE: Final = 2
INVALID_POOLS: Final = 3
STALE_EXTENDED: Final = 4
CANNOT_FIT: Final = 5
BROKEN: Final = 6
TIMED_OUT: Final = 7
"""The attempt's budget was spent before the row was searched to the end."""

MOST_COLUMNS: Final = 256
MOST_ALTERNATIVES: Final = 8


class NodeQuestion(NamedTuple):
    """The claims to allocate on a node, or the code that refuses the node without a search."""

    claims: Sequence[ResourceClaim]
    mappings: tuple[RequestMapping, ...] = ()
    code: int = FITS
    key: Hashable | None = None
    """Equal for questions that differ only in names; None if no other such question is expected."""


class NodeAnswer(NamedTuple):
    """The result of a search on a node."""

    code: int
    found: tuple[Found, ...] | None = ()
    """The devices found; None if it is known that there are some, but not which."""
    claims: Sequence[ResourceClaim] = ()
    mappings: tuple[RequestMapping, ...] = ()
    problem: str = ""
    score: int = 0


Ask = Callable[[Node], NodeQuestion]


class ClaimColumn:
    """The answer for every row, and as columns: `codes` int32 (row), `scores` int64 (row)."""

    def __init__(self, devices: DeviceCache, features: Features = DEFAULT) -> None:
        self._devices = devices
        self._features = features
        self._stale = StaleRows(devices)
        self._again: list[int] = []
        """Rows to search again, in this order: their search failed with an error that names one
        pod's claim, or the budget was spent."""
        self.answers: list[NodeAnswer | None] = []
        self.codes: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.scores: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def catch_up(
        self, table: NodeTable, ask: Ask, filter_seconds: float, budget: WorkBudget
    ) -> None:
        """Search the rows anew for which something has changed."""
        self._stale.read(
            table, lambda missed: self._search_rows(table, ask, filter_seconds, budget, missed)
        )

    def _search_rows(
        self,
        table: NodeTable,
        ask: Ask,
        filter_seconds: float,
        budget: WorkBudget,
        missed: Set[int] | None,
    ) -> None:
        shared: dict[Hashable, SharedVerdicts] = {}
        stale = self._stale_rows(table, missed)
        for position, row in enumerate(stale):
            if budget.is_spent:
                self._leave(table, stale[position:])
                return
            node = table.nodes[row]
            if node is None:
                self._note(row, None)
                continue
            question = ask(node)
            verdicts = None
            if question.key is not None:
                verdicts = shared.get(question.key)
                if verdicts is None:
                    verdicts = shared_verdicts(self._devices, (self._features, question.key))
                    verdicts.catch_up(table)
                    shared[question.key] = verdicts
            self._note(row, self._answer(row, node, question, verdicts, filter_seconds, budget))

    def _answer(
        self,
        row: int,
        node: Node,
        question: NodeQuestion,
        verdicts: SharedVerdicts | None,
        filter_seconds: float,
        budget: WorkBudget,
    ) -> NodeAnswer:
        known = None if verdicts is None else verdicts.get(row)
        if known is not None:
            asked = question.claims, question.mappings
            return NodeAnswer(known.code, None, *asked, score=known.score)
        answer = self._search(node, question, filter_seconds, budget)
        if verdicts is not None and not answer.problem:
            verdicts.put(row, Verdict(answer.code, answer.score))
        return answer

    def settle(
        self, table: NodeTable, row: int, ask: Ask, seconds: float, budget: WorkBudget
    ) -> NodeAnswer | None:
        """The answer of an up-to-date row with the devices, which are searched now if unknown."""
        answer, node = self.answers[row], table.nodes[row]
        if answer is not None and answer.found is None and node is not None:
            answer = self._search(node, ask(node), seconds, budget)
            self._note(row, answer)
        return answer

    def _note(self, row: int, answer: NodeAnswer | None) -> None:
        self.answers[row] = answer
        self.codes[row] = FITS if answer is None else answer.code
        self.scores[row] = 0 if answer is None else answer.score
        if answer is not None and answer.problem:
            self._again.append(row)

    def _leave(self, table: NodeTable, rows: Sequence[int]) -> None:
        """Refuse these rows for now, and search them before any whose search failed."""
        failed, self._again = self._again, []
        for row in rows:
            node = table.nodes[row]
            self._note(row, None if node is None else _timed_out(node, TIMED_OUT))
        self._again += failed

    def _stale_rows(self, table: NodeTable, missed: Set[int] | None) -> Sequence[int]:
        if missed is None:
            self._resize(table.rows)
            self._again.clear()
            return range(table.rows)
        if not missed and not self._again:
            return ()
        again, self._again = self._again, []
        return [*sorted(missed), *(row for row in again if row not in missed)]

    def _resize(self, rows: int) -> None:
        self.answers = [None] * rows
        self.codes = np.zeros(rows, dtype=np.int32)
        self.scores = np.zeros(rows, dtype=np.int64)

    def _search(
        self, node: Node, question: NodeQuestion, filter_seconds: float, budget: WorkBudget
    ) -> NodeAnswer:
        if question.code or not question.claims:
            return NodeAnswer(question.code)
        devices = self._devices
        try:
            pools = devices.pools.of(node, self._features)
            ledger, class_of = devices.claims.ledger, devices.classes.get
            allocator = Allocator(node, pools, ledger, class_of, budget, self._features)
            with budget.part(filter_seconds or math.inf):
                found = allocator.allocate(question.claims)
        except InvalidPoolsError:
            return NodeAnswer(INVALID_POOLS)
        except OverBudgetError:
            return _timed_out(node, TIMED_OUT if budget.is_spent else BROKEN)
        except PoolsError as error:
            return NodeAnswer(BROKEN, problem=f"gather pool information: {error}")
        except AllocationError as error:
            return NodeAnswer(BROKEN, problem=str(error))
        if found is None:
            return NodeAnswer(CANNOT_ALLOCATE)
        asked = question.claims, question.mappings
        return NodeAnswer(FITS, tuple(found), *asked, score=score(found))


def _timed_out(node: Node, code: int) -> NodeAnswer:
    return NodeAnswer(code, problem=f"node {node.name}: timed out trying to allocate devices")


def score(found: Sequence[Found]) -> int:
    """The sum over chosen alternatives; higher the earlier an alternative is in its list."""
    return sum(
        MOST_ALTERNATIVES - wanted.position
        for each in found
        for wanted in each.chosen
        if wanted.parent and any(pick.wanted is wanted for pick in each.picks)
    )


def column_of(devices: DeviceCache, asked: Hashable, features: Features) -> ClaimColumn:
    """The column of pods with equal claims, under the same feature gates."""
    key = features, asked
    found: ClaimColumn | None = devices.columns.get(key)
    if found is None:
        if len(devices.columns) >= MOST_COLUMNS:
            devices.columns.clear()
        found = devices.columns[key] = ClaimColumn(devices, features)
    return found
