"""Pods whose victims are already being evicted for another pod: they wait for those evictions.

    free --begin--> evicted for a pod --join--> other pods wait too --end--> free

Otherwise they would be attempted again whenever one of the victims is gone.
"""

from collections import defaultdict


class SharedOrders:
    """For which pods victims are being evicted, and which other pods wait for that, by uid."""

    __slots__ = ("_evicted_for", "_victims", "_waiting", "_waits_for")

    def __init__(self) -> None:
        self._evicted_for: dict[str, str] = {}
        self._victims: dict[str, list[str]] = {}
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        """Preemptor -> pods that wait for its evictions."""
        self._waits_for: dict[str, set[str]] = {}

    def begin(self, preemptor: str, victims: list[str]) -> None:
        """Record that victims are about to be evicted for a pod."""
        self._victims[preemptor] = victims
        self._evicted_for.update(dict.fromkeys(victims, preemptor))

    def join(self, preemptor: str, victims: list[str]) -> bool:
        """Let a pod wait while any of its victims is being evicted; whether one is."""
        found = {self._evicted_for[uid] for uid in victims if uid in self._evicted_for}
        if found:
            self._waits_for[preemptor] = found
        for other in found:
            self._waiting[other].append(preemptor)
        return bool(found)

    def end(self, preemptor: str) -> list[str]:
        """End the evictions for a pod; the pods that no longer wait for any."""
        for victim in self._victims.pop(preemptor, ()):
            if self._evicted_for.get(victim) == preemptor:
                del self._evicted_for[victim]
        released = []
        for uid in self._waiting.pop(preemptor, ()):
            awaited = self._waits_for.get(uid, set())
            awaited.discard(preemptor)
            if not awaited and self._waits_for.pop(uid, None) is not None:
                released.append(uid)
        return released

    def __len__(self) -> int:
        return len(self._waits_for)
