"""The best node: the same one with compiled passes and without, and each tie equally likely."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import kernels
from moorage.cache.column_cache import Column
from moorage.cache.node_view import Nodes
from moorage.cycle.scoring import Scoring, best_positions, select_host
from moorage.framework.cycle import Cycle
from moorage.framework.draws import NODE
from moorage.testing import Cluster, node, pod

ROWS = 7

scores = st.lists(st.integers(0, 3), min_size=ROWS, max_size=ROWS)


def scored(
    rows: list[int] | None, columns: list[tuple[list[int], int]], own: list[int] | None
) -> Scoring:
    table = Cluster(*(node(f"n{row}") for row in range(ROWS))).cache.table
    nodes = Nodes.all(table) if rows is None else Nodes(table, np.array(rows, dtype=np.intp))
    made = Scoring(nodes)
    for place, (values, weight) in enumerate(columns):
        column = Column(ROWS, np.int64)
        column.values[:] = values
        made.add_column(str(place), column, weight)
    if own is not None:
        made.add(np.array(own[: nodes.count], dtype=np.int64))
    return made


def cycle_of(tie_key: int) -> Cycle:
    cache = Cluster().cache
    return Cycle(cache, cache.info(pod("web").build()), tie_key=tie_key)


@given(
    st.none() | st.lists(st.integers(0, ROWS - 1), min_size=1, unique=True).map(sorted),
    st.lists(st.tuples(scores, st.integers(1, 3)), max_size=3),
    st.none() | scores,
    st.integers(0, 9),
)
def test_the_compiled_choice_is_the_plain_one(
    rows: list[int] | None,
    columns: list[tuple[list[int], int]],
    own: list[int] | None,
    seed: int,
) -> None:
    plain = scored(rows, columns, own)
    tied = best_positions(plain)
    cycle = cycle_of(seed)
    expected = int(tied[cycle.draw(NODE, len(tied))])

    picked, total = select_host(scored(rows, columns, own), cycle)

    assert (picked, total) == (expected, plain.total(picked))


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_every_one_of_the_best_is_chosen_at_times(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(kernels, "built", {})

    chosen = {
        select_host(scored(None, [([1, 3, 0, 3, 3, 0, 1], 1)], None), cycle_of(key))[0]
        for key in range(60)
    }

    assert chosen == {1, 3, 4}
