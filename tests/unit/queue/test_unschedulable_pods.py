import math
from collections.abc import Callable

import pytest

from moorage.cache.podinfo import PodInfo
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.unschedulable_pods import UnschedulablePods

SCHEDULER = "default-scheduler"


@pytest.fixture
def waiting(pod: Callable[..., PodInfo]) -> Callable[..., QueuedPod]:
    """A pod refused by some plugins, or gated by one."""

    def make(name: str, *plugins: str, gated_by: str = "", at: float = 0.0) -> QueuedPod:
        queued = QueuedPod(pod(name), at)
        queued.unschedulable_plugins = frozenset(plugins)
        queued.gated_by = gated_by
        queued.state = State.GATED if gated_by else State.UNSCHEDULABLE
        return queued

    return make


def index(pool: UnschedulablePods) -> dict[str, set[str]]:
    return {
        plugin: {uid for classes in specs.values() for pods in classes.values() for uid in pods}
        for (_, plugin), specs in pool.refused.items()
    }


def test_pods_are_found_by_every_plugin_that_refused_them(
    waiting: Callable[..., QueuedPod],
) -> None:
    pool = UnschedulablePods()
    pool.put(waiting("a", "Fit"))
    pool.put(waiting("b", "Fit", "Taints"))

    assert index(pool) == {"Fit": {"a", "b"}, "Taints": {"b"}}


def test_a_gated_pod_is_found_by_the_plugin_that_gates_it_alone(
    waiting: Callable[..., QueuedPod],
) -> None:
    pool = UnschedulablePods()
    pool.put(waiting("a", "Fit", "Gate", gated_by="Gate"))

    assert index(pool) == {"Gate": {"a"}}
    assert (list(pool.unschedulable), list(pool.gated)) == ([], ["a"])


def test_a_pod_taken_out_leaves_nothing_behind(waiting: Callable[..., QueuedPod]) -> None:
    pool = UnschedulablePods()
    queued = waiting("a", "Fit", "Taints")
    pool.put(queued)

    pool.take(queued)

    assert len(pool) == 0
    assert pool.refused == {}
    assert pool.get("a") is None


def test_equal_pods_share_a_class_and_those_with_other_labels_the_spec(
    waiting: Callable[..., QueuedPod], pod: Callable[..., PodInfo]
) -> None:
    pool = UnschedulablePods()
    urgent, labelled = waiting("c", "Fit"), waiting("d", "Fit")
    urgent.info, labelled.info = pod("c", priority=7), pod("d", labels={"app": "d"})
    for queued in (waiting("a", "Fit"), waiting("b", "Fit"), urgent, labelled):
        pool.put(queued)

    specs = pool.refused[(SCHEDULER, "Fit")]
    found = [sorted(sorted(pods) for pods in classes.values()) for classes in specs.values()]
    assert sorted(found) == [[["a", "b"], ["d"]], [["c"]]]


def test_a_pod_that_a_plugin_had_changed_shares_nothing(
    waiting: Callable[..., QueuedPod], pod: Callable[..., PodInfo]
) -> None:
    pool = UnschedulablePods()
    changed = waiting("b", "Fit")
    changed.seen_as = pod("b", priority=7).pod
    for queued in (waiting("a", "Fit"), changed):
        pool.put(queued)

    assert len(pool.refused[(SCHEDULER, "Fit")]) == 2
    pool.take(changed)
    assert len(pool.refused[(SCHEDULER, "Fit")]) == 1


def test_stale_pods_are_those_that_waited_for_longer(waiting: Callable[..., QueuedPod]) -> None:
    pool = UnschedulablePods()
    old, flushed, young = waiting("o", "Fit"), waiting("f", "Fit"), waiting("y", "Fit", at=9.0)
    flushed.flushed_at = 5.0
    for queued in (old, flushed, young):
        pool.put(queued)

    assert pool.stale(10.0, longest=10.0) == []
    assert pool.stale(10.5, longest=10.0) == [old]
    assert pool.stale(15.5, longest=10.0) == [old, flushed]


def test_oldest_forgets_pods_that_left_when_it_is_asked_again(
    waiting: Callable[..., QueuedPod],
) -> None:
    pool = UnschedulablePods()
    queued = waiting("a", "Fit", at=3.0)
    pool.put(queued)
    assert pool.oldest == 3.0

    pool.take(queued)

    assert pool.stale(100.0, longest=10.0) == []
    assert pool.oldest == math.inf
