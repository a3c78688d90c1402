"""Draws among equals: the same everywhere, each equal as likely, and none hangs on another."""

from collections import Counter
from collections.abc import Callable

import pytest

from moorage.cache.cache import Cache
from moorage.framework.cycle import Cycle
from moorage.framework.draws import CANDIDATE, FIRST_CANDIDATE, NODE, draw, tie_key
from moorage.testing import pod

DRAWS = 20_000


def chi_square(found: Counter[int], choices: int) -> float:
    """How far the counts are from equal; about `choices` - 1 where they are drawn evenly."""
    expected = found.total() / choices
    return sum((found[each] - expected) ** 2 / expected for each in range(choices))


def by_name(number: int) -> int:
    return tie_key(7, f"pod-{number}", 1)


def by_attempt(number: int) -> int:
    return tie_key(7, "pod", number)


def by_seed(number: int) -> int:
    return tie_key(number, "pod", 1)


@pytest.mark.parametrize("key_of", [by_name, by_attempt, by_seed])
@pytest.mark.parametrize(
    ("choices", "most"),
    [
        pytest.param(2, 10.8, id="two"),
        pytest.param(3, 13.8, id="three"),
        pytest.param(10, 27.9, id="ten"),
        pytest.param(97, 147.0, id="a prime"),
    ],
)
def test_each_is_as_likely(key_of: Callable[[int], int], choices: int, most: float) -> None:
    """`most` is exceeded by chance once in a thousand times."""
    found = Counter(draw(key_of(number), NODE, choices) for number in range(DRAWS))

    assert chi_square(found, choices) < most


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda number: draw(by_name(number), CANDIDATE, 5), id="purpose"),
        pytest.param(lambda number: draw(tie_key(7, f"pod-{number}", 2), NODE, 5), id="attempt"),
        pytest.param(lambda number: draw(tie_key(8, f"pod-{number}", 1), NODE, 5), id="seed"),
        pytest.param(lambda number: draw(by_name(number + 1), NODE, 5), id="pod"),
    ],
)
def test_another_draw_says_nothing_about_it(other: Callable[[int], int]) -> None:
    pairs = (5 * draw(by_name(number), NODE, 5) + other(number) for number in range(DRAWS))

    assert chi_square(Counter(pairs), 25) < 51.2


def test_it_is_the_same_in_every_process_and_on_every_platform() -> None:
    uid = "0b5c9b6e-1f1c-4c39-a5a1-9f3d6a7c2e10"

    found = [draw(tie_key(1, uid, 1), what, 1000) for what in (NODE, FIRST_CANDIDATE, CANDIDATE)]

    assert found == [71, 532, 318]
    assert tie_key(2**64 - 1, uid, 2**40) < 2**64


def cycle_of(uid: str, number: int = 1, asking: str = "") -> Cycle:
    cache = Cache()
    cycle = Cycle(cache, cache.info(pod(uid).build()), seed=3, number=number)
    cycle.asking = asking
    return cycle


def test_a_plugin_has_a_generator_of_its_own_in_each_attempt() -> None:
    def first(cycle: Cycle) -> float:
        return cycle.random.random()

    drawn = first(cycle_of("web", 1, "Dice"))

    assert drawn == first(cycle_of("web", 1, "Dice"))
    assert drawn != first(cycle_of("web", 2, "Dice"))
    assert drawn != first(cycle_of("api", 1, "Dice"))
    assert drawn != first(cycle_of("web", 1, "Coins"))


def test_what_another_plugin_draws_moves_nothing() -> None:
    alone, beside = cycle_of("web", 1, "Dice"), cycle_of("web", 1, "Coins")
    beside.random.random()
    beside.asking = "Dice"

    assert [alone.random.random() for _ in range(3)] == [beside.random.random() for _ in range(3)]
