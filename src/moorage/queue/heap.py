"""A heap of queued pods, smallest key first; equal keys in the order of their sequence.

Removing a pod from the middle is O(1): its entry stays behind and is skipped when it reaches the
top. The heap is rebuilt when more than half of its entries, and some slack, are such leftovers.
"""

import heapq
from collections.abc import Iterator
from typing import Any

from moorage.framework.queued_pod import QueuedPod

_Entry = tuple[Any, int, QueuedPod]
_SLACK = 64


class Heap:
    """Pods by (key, sequence). An entry is live while `pod.sequence` equals its sequence."""

    __slots__ = ("_entries", "_live")

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._live = 0

    def push(self, key: Any, pod: QueuedPod) -> None:
        """Add a pod under `pod.sequence`, which the caller must have set for this entry."""
        heapq.heappush(self._entries, (key, pod.sequence, pod))
        self._live += 1

    def pop(self) -> QueuedPod | None:
        """Take out the first pod."""
        entries = self._entries
        while entries:
            _, sequence, pod = heapq.heappop(entries)
            if sequence == pod.sequence:
                self._live -= 1
                pod.sequence = 0
                return pod
        return None

    def first(self) -> QueuedPod | None:
        """The pod that `pop` would take."""
        entries = self._entries
        while entries:
            _, sequence, pod = entries[0]
            if sequence == pod.sequence:
                return pod
            heapq.heappop(entries)
        return None

    def first_place(self) -> tuple[Any, int] | None:
        """The key and the sequence of the first pod."""
        return None if self.first() is None else self._entries[0][:2]

    def hand_over_first(self, to: "Heap") -> None:
        """Move the first pod to another heap, under the same key and sequence."""
        if self.first() is not None:
            heapq.heappush(to._entries, heapq.heappop(self._entries))
            self._live -= 1
            to._live += 1

    def discard(self, pod: QueuedPod) -> None:
        """Remove a pod that is in here, whatever its position."""
        pod.sequence = 0
        self._live -= 1
        if not self._live:
            self._entries.clear()
        elif len(self._entries) > 2 * self._live + _SLACK:
            self._entries = [entry for entry in self._entries if entry[1] == entry[2].sequence]
            heapq.heapify(self._entries)

    def in_order(self) -> list[QueuedPod]:
        """The pods in here, in the order in which `pop` would return them."""
        return [pod for _, sequence, pod in sorted(self._entries) if sequence == pod.sequence]

    def __len__(self) -> int:
        return self._live

    def __iter__(self) -> Iterator[QueuedPod]:
        """The pods in here, in no order."""
        return (pod for _, sequence, pod in self._entries if sequence == pod.sequence)
