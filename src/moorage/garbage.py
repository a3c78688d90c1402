"""Garbage collection for a process whose objects mostly stay.

Whatever the cache believes lives long. Left alone, Python's collector looks through all of it again
and again, for tens of milliseconds at a time, and finds nothing.
"""

import gc
from typing import Final

_YOUNG: Final = 50_000
"""Allocations between two looks at young objects; Python's own default is 700."""
_OLDER: Final = 50


def calm() -> None:
    """Leave what is there now out of collections, and collect less often from here on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)
