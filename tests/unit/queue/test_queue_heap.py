from collections.abc import Callable, Iterable

import pytest

from moorage.cache.podinfo import PodInfo
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.heap import Heap

Enter = Callable[[Iterable[int]], list[QueuedPod]]


@pytest.fixture
def heap() -> Heap:
    return Heap()


@pytest.fixture
def enter(heap: Heap, pod: Callable[..., PodInfo]) -> Enter:
    """Push pods with the given keys, in this order, and answer them."""

    def push(keys: Iterable[int]) -> list[QueuedPod]:
        pods = []
        for sequence, key in enumerate(keys, start=1):
            queued = QueuedPod(pod(f"p{sequence}"), 0.0)
            queued.sequence = sequence
            heap.push(key, queued)
            pods.append(queued)
        return pods

    return push


def drained(heap: Heap) -> list[QueuedPod]:
    return list(iter(heap.pop, None))


def test_pods_leave_by_key_and_equal_keys_in_the_order_they_came(heap: Heap, enter: Enter) -> None:
    a, b, c, d = enter([2, 1, 2, 1])

    assert drained(heap) == [b, d, a, c]


def test_an_empty_heap_has_no_first_pod(heap: Heap) -> None:
    assert heap.first() is None
    assert heap.pop() is None


def test_a_discarded_pod_neither_counts_nor_comes_up(heap: Heap, enter: Enter) -> None:
    a, b, c = enter([1, 2, 3])

    heap.discard(a)
    heap.discard(b)

    assert len(heap) == 1
    assert heap.first() is c
    assert drained(heap) == [c]


def test_a_pod_that_comes_back_stands_where_its_new_key_puts_it(heap: Heap, enter: Enter) -> None:
    a, b = enter([1, 2])

    heap.discard(a)
    a.sequence = 3
    heap.push(4, a)

    assert drained(heap) == [b, a]


def test_leftovers_of_discarded_pods_are_cleared_away(heap: Heap, enter: Enter) -> None:
    pods = enter(range(1000))

    for queued in pods[:-1]:
        heap.discard(queued)

    assert list(heap) == [pods[-1]]
    assert len(heap._entries) < 100
