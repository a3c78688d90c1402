"""Who is worth a retry comes out in order; who is not stays, and loses neither place nor end."""

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moorage.cache.cache import Cache
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.backoff_heap import BackoffHeap
from moorage.testing import pod as a_pod

COLOURS = ("red", "green", "blue")
CACHE = Cache()


def queued_pod(name: str, colour: str) -> QueuedPod:
    return QueuedPod(CACHE.info(a_pod(name).labelled(colour=colour).build()), 0.0)


class AgainstAList(RuleBasedStateMachine):
    """The heap, and a plain list of (key, sequence, pod)."""

    def __init__(self) -> None:
        super().__init__()
        self.heap = BackoffHeap()
        self.heap.spares = self.spares
        self.listed: list[tuple[int, int, QueuedPod]] = []
        self.refused: set[str] = set()
        self.count = 0

    def spares(self, pod: QueuedPod) -> Hashable | None:
        colour = pod.info.pod.labels["colour"]
        return colour if colour in self.refused else None

    @rule(key=st.integers(0, 3), colour=st.sampled_from(COLOURS))
    def push(self, key: int, colour: str) -> None:
        self.count += 1
        pod = queued_pod(f"p{self.count}", colour=colour)
        pod.sequence = self.count
        self.heap.push(key, pod)
        self.listed.append((key, self.count, pod))

    @rule(colours=st.sets(st.sampled_from(COLOURS)))
    def refuse(self, colours: set[str]) -> None:
        self.refused = colours

    @rule()
    def pop(self) -> None:
        worth = [each for each in self.listed if self.spares(each[2]) is None]
        assert self.heap.is_worth_a_retry() == bool(worth)
        self._takes(min(worth, key=lambda each: each[:2], default=None), self.heap.pop())

    @rule()
    def pop_first(self) -> None:
        self._takes(min(self.listed, key=lambda each: each[:2], default=None), self.heap.first())
        self.heap.pop_first()

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        if self.listed:
            gone = data.draw(st.sampled_from(self.listed))
            self.listed.remove(gone)
            self.heap.discard(gone[2])

    def _takes(self, want: tuple[int, int, QueuedPod] | None, found: QueuedPod | None) -> None:
        assert found is (None if want is None else want[2])
        if want is not None:
            self.listed.remove(want)

    @invariant()
    def holds_the_same_pods(self) -> None:
        assert len(self.heap) == len(self.listed)
        assert {pod.info.uid for pod in self.heap} == {pod.info.uid for *_, pod in self.listed}


TestAgainstAList = AgainstAList.TestCase


@given(st.integers(1, 5))
def test_of_those_one_refusal_concerns_none_is_asked_about_twice(equal: int) -> None:
    heap, asked = BackoffHeap(), []

    def spares(pod: QueuedPod) -> str:
        asked.append(pod.info.uid)
        return "all"

    heap.spares = spares
    for number in range(equal):
        pod = queued_pod(f"p{number}", colour="red")
        pod.sequence = number + 1
        heap.push(number, pod)
    assert not heap.is_worth_a_retry()
    first = len(asked)
    assert not heap.is_worth_a_retry()

    assert len(asked) - first == 1
