"""A guard against evictions in a circle.

The pods of a workload may be evicted again and again: by two schedulers that each take the other's
node, or if a controller fills a node faster than the preemptor can use it.

1. One turn of a circle is an eviction, for the same preemptor's owner, of a pod that came after an
   earlier pod of its own owner was evicted.
2. After `limit` turns within a window, the pair of owners is stopped for one window.
3. Which pod came later is observed here. The API server's timestamps are whole seconds of another
   clock, and a circle may turn many times a second.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final

from moorage.api.pod import Pod

WINDOW_SECONDS: Final = 600.0

Pair = tuple[str, str]
"""(owner of the preemptor, owner of the victim)."""


class LoopGuard:
    """Counts turns by pair of owners; `stopped` counts the circles that were cut, by pair."""

    def __init__(
        self, window: float = WINDOW_SECONDS, stops: Mapping[Pair, float] | None = None
    ) -> None:
        self.window = window
        self._first: dict[Pair, float] = {}
        self._turns: dict[Pair, deque[float]] = {}
        self._until: dict[Pair, float] = dict(stops or {})
        self._newcomers: dict[str, set[str]] = {}
        self._pruned = 0.0
        self.stopped: Counter[Pair] = Counter()

    def arrived(self, pod: Pod) -> None:
        """Note a pod that is seen for the first time."""
        if self._newcomers:
            found = self._newcomers.get(owner(pod))
            if found is not None:
                found.add(pod.uid)

    def left(self, pod: Pod) -> None:
        """Forget a pod that is gone: it will be no victim."""
        if self._newcomers:
            self._newcomers.get(owner(pod), set()).discard(pod.uid)

    def note(self, preemptor: Pod, victim: Pod, now: float, limit: int) -> bool:
        """Count an eviction; whether it is the `limit`th turn of a circle, which is now stopped."""
        self._prune(now)
        pair = owner(preemptor), owner(victim)
        self._first.setdefault(pair, now)
        if victim.uid not in self._newcomers.setdefault(pair[1], set()):
            return False
        turns = self._turns.setdefault(pair, deque())
        turns.append(now)
        while now - turns[0] > self.window:
            turns.popleft()
        if not limit or len(turns) < limit:
            return False
        self._until[pair] = now + self.window
        self._forget([pair])
        self.stopped[pair] += 1
        return True

    def is_stopped(self, preemptor: Pod, victim: Pod, now: float) -> bool:
        """Whether pods of this owner may not evict pods of that one for now."""
        if not self._until:
            return False
        until = self._until.get((owner(preemptor), owner(victim)))
        return until is not None and until > now

    def is_quiet(self, now: float) -> bool:
        """Whether no pair is stopped."""
        self._until = {pair: until for pair, until in self._until.items() if until > now}
        return not self._until

    @property
    def pairs(self) -> int:
        """The number of pairs stopped, as of the last call of `is_quiet`."""
        return len(self._until)

    def stops(self) -> Mapping[Pair, float]:
        """Pair -> time until which it is stopped."""
        return self._until

    def until(self, preemptor: Pod, victim: Pod) -> float:
        """The time until which a stopped pair is stopped."""
        return self._until[owner(preemptor), owner(victim)]

    def _prune(self, now: float) -> None:
        """Once per window, forget pairs without an eviction for a window."""
        if now - self._pruned < self.window:
            return
        self._pruned = now
        self._forget(
            [
                pair
                for pair, first in self._first.items()
                if now - max(first, *self._turns.get(pair, (first,))) > self.window
            ]
        )

    def _forget(self, pairs: list[Pair]) -> None:
        for pair in pairs:
            self._first.pop(pair, None)
            self._turns.pop(pair, None)
        victims = {victim for _, victim in self._first}
        for gone in {victim for _, victim in pairs} - victims:
            self._newcomers.pop(gone, None)


def owner(pod: Pod) -> str:
    """The pod's owner: its controller, or the pod itself if it has none."""
    found = pod.owner
    if found is None:
        return f"Pod {pod.key}"
    return f"{found.kind} {pod.namespace}/{found.name}"
