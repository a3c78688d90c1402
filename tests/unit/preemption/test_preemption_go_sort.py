"""Golden orders were written by Go's own `sort.Slice`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.preemption import go_sort


def ranges(*spans: int | tuple[int, int]) -> list[int]:
    """Positions as spans: (3, 6) is 3 4 5 6, and (6, 3) counts down."""
    flat: list[int] = []
    for span in spans:
        first, last = (span, span) if isinstance(span, int) else span
        step = 1 if last >= first else -1
        flat.extend(range(first, last + step, step))
    return flat


@pytest.mark.parametrize(
    ("keys", "want"),
    [
        pytest.param(
            [i * i % 5 for i in range(13)],
            [5, 10, 0, 9, 4, 6, 1, 11, 3, 7, 8, 2, 12],
            id="thirteen keys are enough to exchange equal ones",
        ),
        pytest.param(
            [i % 3 for i in range(20)],
            [9, 18, 15, 3, 12, 0, 6, 10, 7, 4, 13, 16, 1, 19, 8, 5, 11, 14, 2, 17],
            id="few different keys are partitioned by equality",
        ),
        pytest.param(
            [(23 - i) // 2 for i in range(24)],
            ranges((23, 16), 14, 15, 12, 13, 11, 10, 8, 9, (7, 2), 0, 1),
            id="a falling run is reversed",
        ),
        pytest.param(
            [min(i, 29 - i) // 3 for i in range(30)],
            ranges((0, 2), (29, 27), (3, 5), (26, 24), 21, (6, 8), 22, 23, 11, 9, (18, 20), 10)
            + ranges(17, 12, 13, (16, 14)),
            id="a rising and falling run",
        ),
        pytest.param(
            [0 if i % 9 else i for i in range(40)],
            ranges(20, 14, (2, 8), 39, (10, 13), 19, (15, 17), 1, 38, 25, (21, 24), 0, 26, 37)
            + ranges((28, 35), 9, 18, 27, 36),
            id="a lopsided partition is scattered before the next",
        ),
        pytest.param(
            [i // 4 if i not in (20, 41) else 0 for i in range(60)],
            ranges((0, 3), 20, 41, (4, 19), (21, 40), (42, 59)),
            id="a nearly sorted run is mended by shifting",
        ),
        pytest.param(
            [(i * i * 7 + i // 3) % 11 for i in range(55)],
            ranges(12, 45, 0, 38, 33, 5, 29, 39, 20, 6, 53, 47, 14, 23, 4, 37, 54, 44, 52)
            + ranges(19, 24, 21, 11, 49, 17, 40, 16, 50, 7, 25, 31, 35, 2, 32, 30, 15, 34, 48)
            + ranges(22, 1, 18, 27, 51, 28, 9, 42, 36, 3, 43, 8, 46, 26, 13, 10, 41),
            id="past fifty keys the pivot is a median of medians",
        ),
    ],
)
def test_equal_keys_end_up_where_go_leaves_them(keys: list[int], want: list[int]) -> None:
    assert want == go_sort.order(keys)


@given(st.lists(st.integers(0, 6), max_size=12))
def test_up_to_twelve_keys_are_sorted_stably(keys: list[int]) -> None:
    assert sorted(range(len(keys)), key=keys.__getitem__) == go_sort.order(keys)


@given(st.lists(st.integers(0, 9), max_size=200))
def test_the_order_is_a_sorted_permutation(keys: list[int]) -> None:
    order = go_sort.order(keys)

    assert sorted(order) == list(range(len(keys)))
    assert sorted(keys) == [keys[position] for position in order]


@given(st.lists(st.integers(0, 9), max_size=80))
def test_after_too_many_bad_pivots_a_heap_sorts(keys: list[int]) -> None:
    run = go_sort._Run(keys)
    run.sort(0, len(keys), 0)

    assert sorted(keys) == run.keys
    assert [keys[position] for position in run.at] == run.keys
