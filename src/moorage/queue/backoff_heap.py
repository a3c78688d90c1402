"""Pods that back off, by the end of their backoff; and which are worth a retry before that.

1. When no pod is active, the first pod that backs off is tried early.
2. A pod that is known to be refused again is passed over (`spares`). It is set aside in a heap of
   its own for each refusal, and is tried when its backoff ends or when `spares` no longer names a
   refusal for it.
3. While the first of the remaining pods rests (`rests`), no pod is tried early: a less urgent pod
   must not overtake it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Any

from moorage.framework.queued_pod import QueuedPod
from moorage.queue.heap import Heap

Spares = Callable[[QueuedPod], Hashable | None]
"""The refusal that makes an early retry of a pod useless; None if the retry may succeed."""


Rests = Callable[[QueuedPod], bool]
"""Whether an early retry of a pod is postponed for a moment."""


def spares_nobody(pod: QueuedPod) -> None:
    return None


def nobody_rests(pod: QueuedPod) -> bool:
    return False


class BackoffHeap:
    """A heap of pods. It includes those set aside; only `pop` and `is_worth_a_retry` skip them."""

    __slots__ = ("_aside", "_heap", "_set_aside", "rests", "spares")

    def __init__(self) -> None:
        self.spares: Spares = spares_nobody
        self.rests: Rests = nobody_rests
        self._heap = Heap()
        self._aside: dict[Hashable, Heap] = {}
        self._set_aside: dict[str, Hashable] = {}
        """Pod uid -> the refusal for which the pod was set aside."""

    def push(self, key: Any, pod: QueuedPod) -> None:
        self._heap.push(key, pod)

    def pop(self) -> QueuedPod | None:
        """Take out the first pod that is worth a retry."""
        return self._pop_from(self._worth_a_retry())

    def is_worth_a_retry(self) -> bool:
        """Whether `pop` would return a pod."""
        return self._worth_a_retry() is not None

    def has_set_aside(self, pod: QueuedPod) -> bool:
        return pod.info.uid in self._set_aside

    def first(self) -> QueuedPod | None:
        """The pod whose backoff ends first."""
        heap = _earliest(self._heaps())
        return None if heap is None else heap.first()

    def pop_first(self) -> QueuedPod | None:
        """Take out the pod whose backoff ends first."""
        return self._pop_from(_earliest(self._heaps()))

    def discard(self, pod: QueuedPod) -> None:
        """Remove a pod that is in here, whatever its position."""
        why = self._set_aside.get(pod.info.uid)
        (self._heap if why is None else self._aside[why]).discard(pod)
        self._left(pod)

    def _worth_a_retry(self) -> Heap | None:
        found = self._first_not_spared()
        first = None if found is None else found.first()
        return None if first is None or self.rests(first) else found

    def _first_not_spared(self) -> Heap | None:
        while (pod := self._heap.first()) is not None and (why := self.spares(pod)) is not None:
            self._set_aside[pod.info.uid] = why
            self._heap.hand_over_first(self._aside.setdefault(why, Heap()))
        if not self._aside:
            return None if pod is None else self._heap
        return _earliest(chain((self._heap,), filter(self._is_ready, self._aside.values())))

    def _is_ready(self, aside: Heap) -> bool:
        first = aside.first()
        return first is not None and self.spares(first) is None

    def _pop_from(self, heap: Heap | None) -> QueuedPod | None:
        pod = None if heap is None else heap.pop()
        if pod is not None:
            self._left(pod)
        return pod

    def _left(self, pod: QueuedPod) -> None:
        why = self._set_aside.pop(pod.info.uid, None)
        if why is not None and not len(self._aside[why]):
            del self._aside[why]

    def _heaps(self) -> Iterator[Heap]:
        return chain((self._heap,), self._aside.values())

    def __len__(self) -> int:
        return len(self._heap) + len(self._set_aside)

    def __iter__(self) -> Iterator[QueuedPod]:
        """The pods in here, in no order."""
        return chain.from_iterable(self._heaps())


def _earliest(heaps: Iterable[Heap]) -> Heap | None:
    """The heap whose first pod comes first of all; None if all are empty."""
    found = ((place, heap) for heap in heaps if (place := heap.first_place()) is not None)
    return min(found, key=itemgetter(0), default=(None, None))[1]
