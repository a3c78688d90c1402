import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]

def mean_allocated(
    out: NDArray[np.int64], specs: tuple[tuple[float, float, Column, Column], ...], least: bool
) -> bool: ...
def balance_of_two(
    out: NDArray[np.int64],
    offered0: Column,
    used0: Column,
    share0: Column,
    request0: float,
    offered1: Column,
    used1: Column,
    share1: Column,
    request1: float,
) -> bool: ...
def mark(
    out: NDArray[np.int32],
    free: NDArray[np.int64],
    offered: NDArray[np.int64],
    amount: int,
    bit: int,
    never: int,
) -> bool: ...
def highest(
    columns: tuple[tuple[NDArray[np.int64], int], ...], rows: NDArray[np.intp] | None
) -> tuple[int, int]: ...
def nth_of(
    columns: tuple[tuple[NDArray[np.int64], int], ...],
    rows: NDArray[np.intp] | None,
    total: int,
    n: int,
) -> int: ...
