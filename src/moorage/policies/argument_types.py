"""Types of plugin arguments that several policies share: percentages, shares, amounts, counts."""

from typing import Annotated

import msgspec

Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
"""A score, or a number of hundredths."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A fraction from 0 to 1."""

Amount = Annotated[float, msgspec.Meta(ge=0)]
"""A price, a duration, a number of watts: never negative."""

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things."""
