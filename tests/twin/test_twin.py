"""Stories of faults end well; with a safeguard taken out, they do not."""

import pytest

from tests.twin.mutants import MUTANTS
from tests.twin.shrinking import shrink
from tests.twin.story import Story, draw
from tests.twin.twin import run

STORIES = 3
STEPS = 150


@pytest.mark.parametrize("seed", range(1, STORIES + 1))
def test_nothing_is_lost_doubled_or_overcommitted(seed: int) -> None:
    outcome = run(draw(seed, STEPS))

    assert outcome.violations == []
    assert outcome.binds > 20, "the story came to nothing"
    assert outcome.faults.total() > 100, "nothing failed"


def test_a_story_is_the_same_each_time() -> None:
    assert run(draw(7, 60)) == run(draw(7, 60))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_safeguard_that_is_taken_out_is_missed(name: str) -> None:
    def breaks(seed: int) -> bool:
        with MUTANTS[name]():
            return bool(run(draw(seed, 200)).violations)

    assert any(breaks(seed) for seed in range(10, 34))


def test_a_story_that_breaks_is_shortened_to_what_breaks_it() -> None:
    whole = draw(3, 100)
    culprits = {whole.steps[17], whole.steps[61]}

    def breaks(story: Story) -> bool:
        return culprits <= set(story.steps)

    assert set(shrink(whole, breaks).steps) == culprits
