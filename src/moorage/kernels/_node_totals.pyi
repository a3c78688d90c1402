from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
Amounts = NDArray[np.int64]
Spec = tuple[
    NDArray[np.bool_],
    Amounts,
    Amounts,
    tuple[tuple[Amounts, int], ...],
    tuple[tuple[float, float, Column, Column], ...],
    bool,
    int,
    tuple[tuple[float, Column, Column, Column], ...],
    int,
]

def best(
    totals: NDArray[np.int32], changed: list[int] | None, spec: Spec | tuple[Any, ...]
) -> tuple[int, int]: ...
def nth(totals: NDArray[np.int32], total: int, n: int) -> int: ...
