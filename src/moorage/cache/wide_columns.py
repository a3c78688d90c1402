"""Columns of many resources, most of which most nodes do not offer.

A cluster in which every node has a resource of its own has as many resources as nodes, and pods may
name resources that no node has. So zeros cost no memory: the kernel provides a page when it is
first written, and growing copies only what is not zero.
"""

import mmap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FEW: Final = 32
"""Up to this many resources columns are plain arrays; float columns are kept for no more."""
_PRIVATE: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def zeros(height: int, capacity: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A column of `capacity` rows for each of `height` resources."""
    if height <= FEW:
        return np.zeros((height, capacity), dtype=dtype)
    pages = mmap.mmap(-1, height * capacity * dtype.itemsize, flags=_PRIVATE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)  # else one amount would take two megabytes
    return np.frombuffer(pages, dtype=dtype).reshape(height, capacity)


def grown(old: NDArray[Any], height: int, capacity: int) -> NDArray[Any]:
    """A copy of the columns with room for more resources and more rows."""
    made = zeros(height, capacity, old.dtype)
    if len(old) <= FEW:
        made[: len(old), : old.shape[1]] = old
    else:
        at = np.nonzero(old)
        made[at] = old[at]
    return made
