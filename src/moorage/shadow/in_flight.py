"""A second look at disagreements: pods that came or went while a node was being chosen.

A scheduler decides one pod after the other and binds them at the same time, so bindings and ends
may be seen in another order than decisions were made in. Where a decision makes no sense on the
cluster as it was seen, it is judged again without the pods that were bound just before, with those
that were gone just before, and, as further pods are bound shortly after, with those: with all, and
with the latest alone, as others may have been decided about in between. A scheduler knows for which
pod it makes room before anybody else does, so the word of that counts as a binding. Only what
happened while the pod waited can have been overtaken. If it makes sense then, that is what is
said, and that it took it.
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
"""How far apart decision and binding may be."""
MOST: Final = 64
"""How many bindings and ends are remembered."""
TRIES: Final = 8
"""How many of the bindings before are left out, one more each time."""
GONE: Final = 16
"""How many of the pods that are gone are counted again, one more each time."""

T = TypeVar("T")
Judge = Callable[[Pod, str], Judgement]


class Bound(NamedTuple):
    """A pod that was bound."""

    time: float
    pod: Pod
    """As it was before."""
    node: str
    since: float = 0.0
    """When it was first heard of."""

    def may_have_overtaken(self, time: float) -> bool:
        """Whether it may have been decided about before what happened at a time before it."""
        return self.since <= time <= self.time and self.time - time <= WINDOW_SECONDS


class Gone(NamedTuple):
    """A pod that was on a node, and is not any more."""

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
    """Remembers what happened a moment ago, and disagreements that are not settled yet."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._bound: deque[Bound] = deque(maxlen=MOST)
        self._gone: deque[Gone] = deque(maxlen=MOST)
        self._open: deque[_Open] = deque(maxlen=MOST)

    def look_back(self, bound: Bound, judged: Judgement, judge: Judge) -> Judgement:
        """Judge again without what happened just before; the first judgement where none agrees."""
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
        """Look again when further pods are bound."""
        self._open.append(_Open(bound, judged, judge, settle))

    def gone(self, time: float, uid: str) -> None:
        """A pod is about to be counted no longer."""
        info, node = self._cache.pod(uid), self._cache.node_of(uid)
        if info is not None and node is not None:
            self._gone.append(Gone(time, info, node))

    @contextmanager
    def victims_back(self, node: str, now: float) -> Iterator[None]:
        """The cluster with the pods of a node that were evicted a moment ago."""
        with self._cache.trial():
            row = self._cache.table.row_of.get(node)
            for each in self._gone:
                recent = each.node == node and now - each.time <= WINDOW_SECONDS
                recent = recent and was_evicted(each.info.pod)
                if row is not None and recent and self._cache.pod(each.info.uid) is None:
                    self._cache.place_on(row, each.info)
            yield

    def believed(self, bound: Bound) -> None:
        """A pod is counted on its node now."""
        self._bound.append(bound)
        self._settle(bound)

    def nominated(self, bound: Bound) -> None:
        """Room is made for a pod on a node now."""
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
        """What may have happened after a pod was decided about, and was seen before; latest first.

        What is kept is in the order of its times.
        """
        before = (one for one in reversed(kept) if time(one) <= bound.time)
        return list(takewhile(lambda one: bound.may_have_overtaken(time(one)), before))

    def _with_later(self, each: _Open, latest: Bound) -> Judgement | None:
        """Judge again with all that has been bound since, then with the latest of it alone."""
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
        """Take away what was bound after a pod, but for one; whether there was anything."""
        after = takewhile(lambda one: one.pod.uid != bound.pod.uid, reversed(self._bound))
        uids = [one.pod.uid for one in after if one.pod.uid != but.pod.uid]
        return any([self._cache.remove_pod(uid) is not None for uid in uids])

    def _agreeing(self, bound: Bound, judge: Judge) -> Judgement | None:
        """The first of the states that the scheduler may have seen in which it agrees."""
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
        """The cluster as it is, then with one more of the pods that are gone each time."""
        yield
        for each in gone:
            row = self._cache.table.row_of.get(each.node)
            if row is not None and self._cache.pod(each.info.uid) is None:
                self._cache.place_on(row, each.info)
                yield

    def _with_fewer(self, came: Sequence[Bound]) -> Iterator[None]:
        """The cluster as it is, then without one more of the pods that were bound each time."""
        yield
        for each in came:
            if self._cache.remove_pod(each.pod.uid) is not None:
                yield


def _explained(again: Judgement) -> Judgement:
    return msgspec.structs.replace(again, in_flight=True)
