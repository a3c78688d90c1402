"""A heap of queued pods, smallest key first; equal keys in the order they were pushed.

Taking a pod out of the middle costs nothing at once: its entry is left behind and skipped when it
comes up, and the heap is rebuilt when more than half of it is such leftovers.
"""

import heapq
from collections.abc import Iterator
from typing import Any

from moorage.framework.queued_pod import QueuedPod

_Entry = tuple[Any, int, QueuedPod]
_SLACK = 64


class Heap:
    """Pods by (key, sequence). An entry counts while the pod still has the entry's sequence."""

    __slots__ = ("_entries", "_live")

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._live = 0

    def push(self, key: Any, pod: QueuedPod) -> None:
        """Let a pod in under the sequence it has been given for this place."""
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
        """The key and the sequence of that pod."""
        return None if self.first() is None else self._entries[0][:2]

    def hand_over_first(self, to: "Heap") -> None:
        """Let that pod stand in another heap, in the same place."""
        if self.first() is not None:
            heapq.heappush(to._entries, heapq.heappop(self._entries))
            self._live -= 1
            to._live += 1

    def discard(self, pod: QueuedPod) -> None:
        """Take out a pod that is in here, wherever it stands."""
        pod.sequence = 0
        self._live -= 1
        if not self._live:
            self._entries.clear()
        elif len(self._entries) > 2 * self._live + _SLACK:
            self._entries = [entry for entry in self._entries if entry[1] == entry[2].sequence]
            heapq.heapify(self._entries)

    def in_order(self) -> list[QueuedPod]:
        """The pods in here, as `pop` would take them one after the other."""
        return [pod for _, sequence, pod in sorted(self._entries) if sequence == pod.sequence]

    def __len__(self) -> int:
        return self._live

    def __iter__(self) -> Iterator[QueuedPod]:
        """The pods in here, in no order."""
        return (pod for _, sequence, pod in self._entries if sequence == pod.sequence)
