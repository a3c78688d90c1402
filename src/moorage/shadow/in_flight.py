"""A second look at disagreements: pods that were on their way to a node when it was chosen.

A scheduler decides one pod after the other and binds them at the same time, so bindings may be seen
in another order than decisions were made in. Where a decision makes no sense on the cluster as it
was seen, it is judged again without the pods that were bound just before, and, as further pods are
bound shortly after, with those. Only pods that waited at the same time can have overtaken each
other. If it makes sense then, that is what is said, and that it took it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.shadow.judgement import Judgement

WINDOW_SECONDS: Final = 2.0
"""How far apart decision and binding may be."""
MOST: Final = 64
"""How many bindings are remembered."""
TRIES: Final = 8
"""How many of the bindings before are left out, one more each time."""

Judge = Callable[[Pod, str], Judgement]


class Bound(NamedTuple):
    """A pod that was bound."""

    time: float
    pod: Pod
    """As it was before."""
    node: str
    since: float = 0.0
    """When it was first heard of."""

    def may_have_overtaken(self, other: "Bound") -> bool:
        """Whether it was there when the other, which was bound before it, was decided about."""
        return self.since <= other.time and self.time - other.time <= WINDOW_SECONDS


class _Open(NamedTuple):
    """A disagreement that later bindings may explain."""

    bound: Bound
    judged: Judgement
    judge: Judge
    settle: Callable[[Judgement, Judgement], None]


class InFlight:
    """Remembers what was bound a moment ago, and disagreements that are not settled yet."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._before: deque[Bound] = deque(maxlen=MOST)
        self._open: deque[_Open] = deque(maxlen=MOST)

    def look_back(self, bound: Bound, judged: Judgement, judge: Judge) -> Judgement:
        """Judge again without what was bound just before; the first judgement where none agrees."""
        recent = [each for each in self._before if bound.may_have_overtaken(each)]
        with self._cache.trial():
            for earlier in list(reversed(recent))[:TRIES]:
                if self._cache.remove_pod(earlier.pod.uid) is None:
                    continue
                again = judge(bound.pod, bound.node)
                if again.agrees:
                    return msgspec.structs.replace(again, in_flight=True)
        return judged

    def keep_open(
        self,
        bound: Bound,
        judged: Judgement,
        judge: Judge,
        settle: Callable[[Judgement, Judgement], None],
    ) -> None:
        """Look again when further pods are bound."""
        self._open.append(_Open(bound, judged, judge, settle))

    def believed(self, bound: Bound) -> None:
        """A pod is counted on its node now."""
        self._before.append(bound)
        for each in [each for each in self._open if each.bound.pod.uid != bound.pod.uid]:
            if bound.time - each.bound.time > WINDOW_SECONDS:
                self._open.remove(each)
            elif not bound.may_have_overtaken(each.bound):
                continue
            elif (again := self._with_later(each)) is not None:
                self._open.remove(each)
                each.settle(each.judged, again)

    def _with_later(self, each: _Open) -> Judgement | None:
        """Judge again with everything that has been bound since, but without the pod itself."""
        with self._cache.trial():
            self._cache.remove_pod(each.bound.pod.uid)
            again = each.judge(each.bound.pod, each.bound.node)
            if again.agrees:
                return msgspec.structs.replace(again, in_flight=True)
            for earlier in self._older(each.bound):
                if self._cache.remove_pod(earlier.pod.uid) is None:
                    continue
                again = each.judge(each.bound.pod, each.bound.node)
                if again.agrees:
                    return msgspec.structs.replace(again, in_flight=True)
        return None

    def _older(self, bound: Bound) -> Iterator[Bound]:
        older = [each for each in self._before if bound.may_have_overtaken(each)]
        return iter([each for each in reversed(older) if each.pod.uid != bound.pod.uid][:TRIES])
