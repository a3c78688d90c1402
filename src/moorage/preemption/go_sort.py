"""The order in which Go's `sort.Slice` leaves equal elements.

kube-scheduler sorts victims with `sort.Slice`, which is not stable: with more than twelve elements,
pods that started in the same second may change places, and the first of them is reprieved first. To
reprieve the same pod, this follows Go's pattern-defeating quicksort comparison by comparison.
"""

from typing import Any, Final, TypeVar

T = TypeVar("T")

INSERTION: Final = 12
"""Up to this length Go uses an insertion sort only, which is stable."""

_NINTHER: Final = 50
_SHIFTING: Final = 50
_MOST_SWAPS: Final = 12
_MASK: Final = (1 << 64) - 1


def order(keys: list[Any]) -> list[int]:
    """Positions of the keys in the order in which `sort.Slice` leaves them."""
    count = len(keys)
    if count <= INSERTION or len(set(keys)) == count:
        return sorted(range(count), key=keys.__getitem__)
    run = _Run(keys)
    run.sort(0, count, count.bit_length())
    return run.at


class _Run:
    """One sort: `at[i]` is the original position of the element that is at i now."""

    def __init__(self, keys: list[Any]) -> None:
        self.keys = list(keys)
        self.at = list(range(len(keys)))

    def less(self, i: int, j: int) -> bool:
        return bool(self.keys[i] < self.keys[j])

    def swap(self, i: int, j: int) -> None:
        keys, at = self.keys, self.at
        keys[i], keys[j] = keys[j], keys[i]
        at[i], at[j] = at[j], at[i]

    def sort(self, start: int, end: int, bad_pivots: int) -> None:
        balanced = partitioned = True
        while end - start > INSERTION:
            if bad_pivots == 0:
                return self.heap_sort(start, end)
            if not balanced:
                self.scatter(start, end)
                bad_pivots -= 1
            pivot, swaps = self.choose_pivot(start, end)
            if swaps == _MOST_SWAPS:
                self.reverse(start, end)
                pivot, swaps = end - 1 - (pivot - start), 0
            if balanced and partitioned and swaps == 0 and self.nearly_sorted(start, end):
                return None
            if start > 0 and not self.less(start - 1, pivot):
                start = self.partition_equal(start, end, pivot)
                continue
            length = end - start
            middle, partitioned = self.partition(start, end, pivot)
            balanced = min(middle - start, end - middle) >= length // 8
            if middle - start < end - middle:
                self.sort(start, middle, bad_pivots)
                start = middle + 1
            else:
                self.sort(middle + 1, end, bad_pivots)
                end = middle
        return self.insertion_sort(start, end)

    def insertion_sort(self, start: int, end: int) -> None:
        for i in range(start + 1, end):
            self.sink(i, start)

    def sink(self, i: int, floor: int) -> None:
        """Move an element towards the start for as long as it is less than its neighbour."""
        while i > floor and self.less(i, i - 1):
            self.swap(i, i - 1)
            i -= 1

    def heap_sort(self, start: int, end: int) -> None:
        size = end - start
        for root in range((size - 1) // 2, -1, -1):
            self.sift(root, size, start)
        for last in range(size - 1, -1, -1):
            self.swap(start, start + last)
            self.sift(0, last, start)

    def sift(self, root: int, size: int, start: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(start + child, start + child + 1):
                child += 1
            if not self.less(start + root, start + child):
                return
            self.swap(start + root, start + child)
            root = child

    def scatter(self, start: int, end: int) -> None:
        """Break a pattern that made the last partition lopsided, with a fixed xorshift."""
        length = state = end - start
        modulus = 1 << length.bit_length()
        centre = start + length // 4 * 2
        for i in range(centre - 1, centre + 2):
            state ^= state << 13 & _MASK
            state ^= state >> 7
            state ^= state << 17 & _MASK
            other = state & (modulus - 1)
            self.swap(i, start + (other - length if other >= length else other))

    def choose_pivot(self, start: int, end: int) -> tuple[int, int]:
        """The position of a median, and the number of swaps it took to find it."""
        quarter = (end - start) // 4
        spots = [start + quarter, start + 2 * quarter, start + 3 * quarter]
        swaps = 0
        if end - start >= _NINTHER:
            for n, spot in enumerate(spots):
                spots[n], taken = self.median(spot - 1, spot, spot + 1)
                swaps += taken
        pivot, taken = self.median(*spots)
        return pivot, swaps + taken

    def median(self, a: int, b: int, c: int) -> tuple[int, int]:
        swaps = 0
        if self.less(b, a):
            a, b, swaps = b, a, swaps + 1
        if self.less(c, b):
            b, c, swaps = c, b, swaps + 1
        if self.less(b, a):
            a, b, swaps = b, a, swaps + 1
        return b, swaps

    def reverse(self, start: int, end: int) -> None:
        self.keys[start:end] = self.keys[start:end][::-1]
        self.at[start:end] = self.at[start:end][::-1]

    def nearly_sorted(self, start: int, end: int) -> bool:
        """Sort with a few shifts; whether that was enough."""
        i = start + 1
        for _ in range(5):
            while i < end and not self.less(i, i - 1):
                i += 1
            if i == end:
                return True
            if end - start < _SHIFTING:
                return False
            self.swap(i, i - 1)
            if i - start >= 2:
                self.sink(i - 1, 0)
            if end - i >= 2:
                self.rise(i + 1, end)
        return False

    def rise(self, i: int, end: int) -> None:
        while i < end and self.less(i, i - 1):
            self.swap(i, i - 1)
            i += 1

    def partition(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        """Put elements less than the pivot before it; its position, and whether nothing moved."""
        self.swap(start, pivot)
        i, j = self.out_of_place(start, start + 1, end - 1)
        untouched = i > j
        while i <= j:
            self.swap(i, j)
            i, j = self.out_of_place(start, i + 1, j - 1)
        self.swap(j, start)
        return j, untouched

    def out_of_place(self, pivot: int, i: int, j: int) -> tuple[int, int]:
        while i <= j and self.less(i, pivot):
            i += 1
        while i <= j and not self.less(j, pivot):
            j -= 1
        return i, j

    def partition_equal(self, start: int, end: int, pivot: int) -> int:
        """Put elements equal to the pivot first, greater ones after; none may be less."""
        self.swap(start, pivot)
        i, j = start + 1, end - 1
        while True:
            while i <= j and not self.less(start, i):
                i += 1
            while i <= j and self.less(start, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1
