"""A guard against evictions in a circle.

Two schedulers that each take the other's node, or a controller that fills a node faster than the
preemptor can use it, evict the same workload's pods again and again. One turn of such a circle is
an eviction, on behalf of the same owner, of a pod that came after an earlier one of its owner was
evicted. After so many turns within a window the pair is stopped for as long as the window.
"""

from collections import Counter, deque
from typing import Final

from moorage.api.pod import Pod

WINDOW_SECONDS: Final = 600.0

Pair = tuple[str, str]
"""Owner of the preemptor, owner of the victim."""


class LoopGuard:
    """Counts turns by pair of owners; `stopped` counts the circles that were cut, by pair."""

    def __init__(self, window: float = WINDOW_SECONDS) -> None:
        self.window = window
        self._first: dict[Pair, float] = {}
        self._turns: dict[Pair, deque[float]] = {}
        self._until: dict[Pair, float] = {}
        self.stopped: Counter[Pair] = Counter()

    def note(self, preemptor: Pod, victim: Pod, now: float, limit: int) -> bool:
        """Count an eviction; whether it closes a circle for the `limit`th time."""
        pair = owner(preemptor), owner(victim)
        first = self._first.setdefault(pair, now)
        if now - first > self.window and not self._turns.get(pair):
            self._first[pair] = now
            return False
        if _created(victim, now) <= first:
            return False
        turns = self._turns.setdefault(pair, deque())
        turns.append(now)
        while turns and now - turns[0] > self.window:
            turns.popleft()
        if not limit or len(turns) < limit:
            return False
        self._until[pair] = now + self.window
        self._forget(pair)
        self.stopped[pair] += 1
        return True

    def is_stopped(self, preemptor: Pod, victim: Pod, now: float) -> bool:
        """Whether pods of this owner may not evict pods of that one for now."""
        if not self._until:
            return False
        pair = owner(preemptor), owner(victim)
        until = self._until.get(pair)
        if until is not None and until <= now:
            del self._until[pair]
            return False
        return until is not None

    def is_quiet(self, now: float) -> bool:
        """Whether nobody is stopped."""
        self._until = {pair: until for pair, until in self._until.items() if until > now}
        return not self._until

    @property
    def pairs(self) -> int:
        """How many pairs are stopped, as far as anyone has looked."""
        return len(self._until)

    def until(self, preemptor: Pod, victim: Pod) -> float:
        """Until when a pair that is stopped is."""
        return self._until[owner(preemptor), owner(victim)]

    def _forget(self, pair: Pair) -> None:
        self._first.pop(pair, None)
        self._turns.pop(pair, None)


def owner(pod: Pod) -> str:
    """What a pod belongs to: its controller, or else itself by name."""
    found = pod.owner
    if found is None:
        return f"Pod {pod.key}"
    return f"{found.kind} {pod.namespace}/{found.name}"


def _created(pod: Pod, now: float) -> float:
    created = pod.metadata.creation_timestamp
    return now if created is None else created.timestamp()
