import numpy as np
from numpy.typing import NDArray

def placements(
    out: NDArray[np.float64],
    rows: NDArray[np.int64],
    cpu: NDArray[np.int64],
    memory: NDArray[np.int64],
    left: NDArray[np.int32],
    model: NDArray[np.int32],
    asked: NDArray[np.int64],
    may: NDArray[np.uint8],
    requests: NDArray[np.int64],
    allowed: NDArray[np.uint8],
    weights: NDArray[np.float64],
    packing: float,
) -> bool: ...
