"""The fewest steps of a story that still break it."""

from collections.abc import Callable

from tests.twin.story import Step, Story

Breaks = Callable[[Story], bool]


def shrink(story: Story, breaks: Breaks, patience: int = 200) -> Story:
    """Leave out ever smaller parts of a story for as long as it breaks without them.

    `patience` is how many shorter stories are tried.
    """
    steps, size = story.steps, max(1, len(story.steps) // 2)
    while size and patience > 0:
        before, place = steps, 0
        while place < len(steps) and patience > 0:
            patience -= 1
            left = _without(steps, place, size)
            if breaks(Story(story.seed, left)):
                steps = left
            else:
                place += size
        size = size // 2 if steps == before else min(size, max(1, len(steps) // 2))
    return Story(story.seed, steps)


def _without(steps: tuple[Step, ...], place: int, size: int) -> tuple[Step, ...]:
    """Leave out some steps; what comes after them comes when it came."""
    rest = steps[place + size :]
    if rest:
        pause = sum(step.pause for step in steps[place : place + size])
        rest = (rest[0]._replace(pause=rest[0].pause + pause), *rest[1:])
    return steps[:place] + rest
