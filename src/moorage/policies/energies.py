"""How hot nodes are and how much power they draw, as a feed measured it."""

import math
from typing import Any, Final, NamedTuple

from moorage.policies.measurements import Measurements

STORE: Final = "energies"


class Energy(NamedTuple):
    """Degrees Celsius and watts, NaN where not measured, and when: seconds since the epoch."""

    celsius: float = math.nan
    watts: float = math.nan
    at: float = math.nan


def store(shared: dict[str, Any]) -> Measurements[Energy]:
    """The store of a profile, made when it is first asked for."""
    found: Measurements[Energy] = shared.setdefault(STORE, Measurements(Energy()))
    return found
