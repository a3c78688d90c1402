"""Stories that Hypothesis draws, and shortens where they break."""

from hypothesis import strategies as st

from tests.twin.story import CHURN, FAULTS, PAUSES, PAUSES_AFTER, SECONDS, WINDOWS, Step, Story

KINDS = tuple(dict.fromkeys((*CHURN, *FAULTS)))


def _step(kind: str, pause: float, target: int, seconds: float) -> Step:
    return Step(kind, pause, target, seconds if kind in WINDOWS else 0.0)


STEPS = st.builds(
    _step,
    st.sampled_from(KINDS),
    st.sampled_from(sorted({*PAUSES, *PAUSES_AFTER})),
    st.integers(0, 29),
    st.sampled_from(SECONDS),
)


def _story(seed: int, steps: list[Step]) -> Story:
    """Every step has a number of its own, by which what it makes is named."""
    return Story(seed, tuple(step._replace(number=i) for i, step in enumerate(steps)))


def stories(most: int = 60) -> st.SearchStrategy[Story]:
    """Stories of so many steps at most."""
    return st.builds(_story, st.integers(0, 7), st.lists(STEPS, max_size=most))
