"""The fewest steps of a story that still break it."""

from collections.abc import Callable

from tests.twin.story import Step, Story

Breaks = Callable[[Story], bool]


def shrink(story: Story, breaks: Breaks, patience: int = 200) -> Story:
    """Leave out ever smaller parts of a story for as long as it breaks without them."""
    steps, size = story.steps, max(1, len(story.steps) // 2)
    while size and patience > 0:
        shorter = _without_some(story.seed, steps, size, breaks, patience)
        patience -= max(1, len(steps) // size)
        size = size // 2 if len(shorter) == len(steps) else min(size, max(1, len(shorter) // 2))
        steps = shorter
    return Story(story.seed, steps)


def _without_some(
    seed: int, steps: tuple[Step, ...], size: int, breaks: Breaks, patience: int
) -> tuple[Step, ...]:
    place = 0
    while place < len(steps) and patience > 0:
        patience -= 1
        left = steps[:place] + steps[place + size :]
        if breaks(Story(seed, left)):
            steps = left
        else:
            place += size
    return steps
