"""Types of plugin arguments that several policies share: percentages, shares, amounts, counts."""

from typing import Annotated

import msgspec

Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
"""A score, or a hundredth."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A part of a whole."""

Amount = Annotated[float, msgspec.Meta(ge=0)]
"""A price, a length of time, a number of watts: never negative."""

Count = Annotated[int, msgspec.Meta(ge=0)]
"""How many."""
