"""A guard against evictions in a circle.

Two schedulers that each take the other's node, or a controller that fills a node faster than the
preemptor can use it, evict the same workload's pods again and again. One turn of such a circle is
an eviction, on behalf of the same owner, of a pod that came after an earlier one of its owner was
evicted. After so many turns within a window the pair is stopped for as long as the window.

Who came after is what we saw ourselves: timestamps of the API server are whole seconds of another
clock, and a circle may turn many times a second.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final

from moorage.api.pod import Pod

WINDOW_SECONDS: Final = 600.0

Pair = tuple[str, str]
"""Owner of the preemptor, owner of the victim."""


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
        """A pod was seen for the first time."""
        if self._newcomers:
            found = self._newcomers.get(owner(pod))
            if found is not None:
                found.add(pod.uid)

    def note(self, preemptor: Pod, victim: Pod, now: float, limit: int) -> bool:
        """Count an eviction; whether it closes a circle for the `limit`th time."""
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
        """Whether nobody is stopped."""
        self._until = {pair: until for pair, until in self._until.items() if until > now}
        return not self._until

    @property
    def pairs(self) -> int:
        """How many pairs are stopped, as far as anyone has looked."""
        return len(self._until)

    def stops(self) -> Mapping[Pair, float]:
        """Until when each pair that was stopped is."""
        return self._until

    def until(self, preemptor: Pod, victim: Pod) -> float:
        """Until when a pair that is stopped is."""
        return self._until[owner(preemptor), owner(victim)]

    def _prune(self, now: float) -> None:
        """Forget pairs that nothing was heard of for a window, once in a window."""
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
    """What a pod belongs to: its controller, or else itself by name."""
    found = pod.owner
    if found is None:
        return f"Pod {pod.key}"
    return f"{found.kind} {pod.namespace}/{found.name}"
