"""How fast a series grows, by least squares, and whether that is growth or noise."""

from collections.abc import Sequence
from typing import Final, NamedTuple

WARM_UP: Final = 1 / 3
"""The part of a run in which caches and pools fill; it is left out."""
NOTABLE: Final = 0.10
"""Growth over the rest of the run that is called growth, as a share of where it began."""


class Trend(NamedTuple):
    """A series after its warm-up: where its line begins and ends, and its slope per minute."""

    first: float
    last: float
    per_minute: float

    def grows(self, slack: float) -> bool:
        """Whether it ends higher than it began by a tenth, and by more than `slack`."""
        gained = self.last - self.first
        return gained > max(slack, NOTABLE * self.first)


def trend(seconds: Sequence[float], values: Sequence[float]) -> Trend:
    """The line through what follows the warm-up."""
    start = int(len(values) * WARM_UP)
    times, kept = seconds[start:], values[start:]
    if len(kept) < 2:
        only = kept[0] if kept else 0.0
        return Trend(only, only, 0.0)
    middle, mean = sum(times) / len(times), sum(kept) / len(kept)
    spread = sum((time - middle) ** 2 for time in times)
    pairs = zip(times, kept, strict=True)
    slope = sum((t - middle) * (v - mean) for t, v in pairs) / spread if spread else 0.0
    first = mean + slope * (times[0] - middle)
    return Trend(first, first + slope * (times[-1] - times[0]), slope * 60)
