"""A second look at disagreements: pods that came or went while a node was being chosen.

A scheduler decides one pod after the other, but binds them concurrently. So the watch may show
bindings and ends of pods in another order than that of the decisions. If we disagree with a
decision, it is judged again on other states that the scheduler may have seen:

1. without the pods that were bound just before, and with those that were gone just before;
2. when further pods are bound shortly after: with all of them, and then with the latest alone,
   because the others may have been decided in between. A nomination counts as a binding here,
   because a scheduler knows it before anybody else.

Only changes that happened while the pod was pending can be in the wrong order. If we agree on one
of these states, that judgement counts, with `in_flight` set.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Final, NamedTuple, TypeVar

import msgspec

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.shadow.cluster_meter import was_evicted
from moorage.shadow.judgement import Judgement

WINDOW_SECONDS: Final = 5.0
"""The longest time between a decision and its binding."""
MOST: Final = 64
"""How many bindings, ends and open disagreements are remembered, each."""
TRIES: Final = 8
"""At most this many earlier bindings are left out, one more on each try."""
GONE: Final = 16
"""At most this many pods that are gone are counted again, one more on each try."""

T = TypeVar("T")
Judge = Callable[[Pod, str], Judgement]


class Bound(NamedTuple):
    """A pod that was bound."""

    time: float
    pod: Pod
    """The pod before its binding."""
    node: str
    since: float = 0.0
    """When the pod was first seen pending; 0 if never."""

    def may_have_overtaken(self, time: float) -> bool:
        """Whether the decision may have been made before a change that was seen at `time`."""
        return self.since <= time <= self.time and self.time - time <= WINDOW_SECONDS


class Gone(NamedTuple):
    """A pod that has left its node."""

    time: float
    info: PodInfo
    node: str


class _Open(NamedTuple):
    """A disagreement that later bindings may explain."""

    bound: Bound
    judged: Judgement
    judge: Judge
    settle: Callable[[Judgement, Judgement], None]


class InFlight:
    """Remembers recent changes, and disagreements that later bindings may explain."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._bound: deque[Bound] = deque(maxlen=MOST)
        self._gone: deque[Gone] = deque(maxlen=MOST)
        self._open: deque[_Open] = deque(maxlen=MOST)

    def look_back(self, bound: Bound, judged: Judgement, judge: Judge) -> Judgement:
        """Judge again without recent changes; returns `judged` if that does not agree either."""
        with self._cache.trial():
            again = self._agreeing(bound, judge)
        return judged if again is None else again

    def keep_open(
        self,
        bound: Bound,
        judged: Judgement,
        judge: Judge,
        settle: Callable[[Judgement, Judgement], None],
    ) -> None:
        """Judge again when further pods are bound; calls `settle` if that agrees."""
        self._open.append(_Open(bound, judged, judge, settle))

    def gone(self, time: float, uid: str) -> None:
        """A pod is about to be removed from the cache."""
        info, node = self._cache.pod(uid), self._cache.node_of(uid)
        if info is not None and node is not None:
            self._gone.append(Gone(time, info, node))

    @contextmanager
    def victims_back(self, node: str, now: float) -> Iterator[None]:
        """A trial with the recently evicted pods of a node counted again."""
        with self._cache.trial():
            row = self._cache.table.row_of.get(node)
            for each in self._gone:
                recent = each.node == node and now - each.time <= WINDOW_SECONDS
                recent = recent and was_evicted(each.info.pod)
                if row is not None and recent and self._cache.pod(each.info.uid) is None:
                    self._cache.place_on(row, each.info)
            yield

    def believed(self, bound: Bound) -> None:
        """A bound pod is now in the cache."""
        self._bound.append(bound)
        self._settle(bound)

    def nominated(self, bound: Bound) -> None:
        """A pod is now nominated to a node."""
        self._settle(bound)

    def _settle(self, latest: Bound) -> None:
        for each in self._overtaken(latest, self._open, lambda one: one.bound.time):
            if each.bound.pod.uid == latest.pod.uid:
                continue
            again = self._with_later(each, latest)
            if again is not None:
                self._open.remove(each)
                each.settle(each.judged, again)

    @staticmethod
    def _overtaken(bound: Bound, kept: deque[T], time: Callable[[T], float]) -> list[T]:
        """The changes seen before a binding that may be later than its decision; latest first.

        `kept` must be in order of time.
        """
        before = (one for one in reversed(kept) if time(one) <= bound.time)
        return list(takewhile(lambda one: bound.may_have_overtaken(time(one)), before))

    def _with_later(self, each: _Open, latest: Bound) -> Judgement | None:
        """Judge again with all pods bound since, then with the latest alone."""
        with self._cache.trial():
            self._cache.remove_pod(each.bound.pod.uid)
            again = self._now_or_before(each)
            if again is not None or not self._forget_since(each.bound, but=latest):
                return again
            return self._now_or_before(each)

    def _now_or_before(self, each: _Open) -> Judgement | None:
        again = each.judge(each.bound.pod, each.bound.node)
        return _explained(again) if again.agrees else self._agreeing(each.bound, each.judge)

    def _forget_since(self, bound: Bound, but: Bound) -> bool:
        """Remove the pods bound after `bound`, except `but`; True if there was any."""
        after = takewhile(lambda one: one.pod.uid != bound.pod.uid, reversed(self._bound))
        uids = [one.pod.uid for one in after if one.pod.uid != but.pod.uid]
        return any([self._cache.remove_pod(uid) is not None for uid in uids])

    def _agreeing(self, bound: Bound, judge: Judge) -> Judgement | None:
        """The first agreeing judgement on a state that the scheduler may have seen, or None."""
        gone = self._overtaken(bound, self._gone, lambda one: one.time)
        came = self._overtaken(bound, self._bound, lambda one: one.time)
        came = [each for each in came if each.pod.uid != bound.pod.uid][:TRIES]
        if not gone and not came:
            return None
        for _ in self._with_more(gone[:GONE]):
            with self._cache.trial():
                for _ in self._with_fewer(came):
                    again = judge(bound.pod, bound.node)
                    if again.agrees:
                        return _explained(again)
        return None

    def _with_more(self, gone: Sequence[Gone]) -> Iterator[None]:
        """The cluster as it is, then with one more of the `gone` pods on each step."""
        yield
        for each in gone:
            row = self._cache.table.row_of.get(each.node)
            if row is not None and self._cache.pod(each.info.uid) is None:
                self._cache.place_on(row, each.info)
                yield

    def _with_fewer(self, came: Sequence[Bound]) -> Iterator[None]:
        """The cluster as it is, then without one more of the bound pods on each step."""
        yield
        for each in came:
            if self._cache.remove_pod(each.pod.uid) is not None:
                yield


def _explained(again: Judgement) -> Judgement:
    return msgspec.structs.replace(again, in_flight=True)
