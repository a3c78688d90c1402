"""What an attempt spends is bounded, by count and by a clock."""

import pytest

from moorage.devices.work_budget import (
    ATTEMPT_SECONDS,
    CLOCK_SECONDS,
    UNITS_PER_SECOND,
    OverBudgetError,
    WorkBudget,
)

RENEW_DEADLINE = 10.0


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def test_an_attempt_is_well_below_what_renewing_a_lease_may_take() -> None:
    assert ATTEMPT_SECONDS <= CLOCK_SECONDS <= RENEW_DEADLINE / 3


def test_work_is_paid_for_until_nothing_is_left() -> None:
    budget = WorkBudget(2.0)
    with budget.part(10.0):
        budget.spend(2 * UNITS_PER_SECOND)
        with pytest.raises(OverBudgetError):
            budget.spend(1)

    assert budget.is_spent


def test_a_part_may_not_spend_everything() -> None:
    budget = WorkBudget(2.0)
    with budget.part(0.5), pytest.raises(OverBudgetError):
        budget.spend(0.5 * UNITS_PER_SECOND + 1)

    assert not budget.is_spent
    with budget.part(0.5):
        budget.spend(0.5 * UNITS_PER_SECOND)


def test_parts_together_spend_no_more_than_the_attempt_may() -> None:
    budget = WorkBudget(2.0)
    for _ in range(4):
        with budget.part(0.5):
            budget.spend(0.5 * UNITS_PER_SECOND)

    assert budget.is_spent
    with budget.part(0.5), pytest.raises(OverBudgetError):
        budget.spend(1)


@pytest.mark.parametrize(("seconds", "is_spent"), [(1.0, False), (100.0, True)])
def test_a_clock_ends_a_part_that_has_hardly_been_counted(seconds: float, is_spent: bool) -> None:
    clock = Clock()
    budget = WorkBudget(now=clock)
    with budget.part(seconds):
        budget.spend(1)
        clock.time += min(seconds, CLOCK_SECONDS)
        with pytest.raises(OverBudgetError):
            budget.spend(1)

    assert budget.is_spent is is_spent


def test_time_between_parts_is_not_the_works() -> None:
    clock = Clock()
    budget = WorkBudget(now=clock)
    for _ in range(5):
        clock.time += 10.0
        with budget.part(1.0):
            clock.time += 0.5
            budget.spend(1)

    assert not budget.is_spent


def test_the_next_attempt_has_as_much_again() -> None:
    clock = Clock()
    budget = WorkBudget(now=clock)
    with budget.part(10.0):
        clock.time += CLOCK_SECONDS
        with pytest.raises(OverBudgetError):
            budget.spend(10 * UNITS_PER_SECOND)
    assert budget.is_spent

    budget.renew()

    assert not budget.is_spent
    with budget.part(10.0):
        budget.spend(UNITS_PER_SECOND)
