"""`validate`: every pod is in one place, the one its state names, and the indexes say the same."""

from moorage.framework.queued import QueuedPod, State
from moorage.queue.flights import Flights
from moorage.queue.heap import Heap
from moorage.queue.places import Places
from moorage.queue.pool import Pool, last_seen, refusers


def validate(places: Places, flights: Flights) -> None:
    """Raise AssertionError naming the first pod or index in which the queue contradicts itself."""
    for uid, pod in places.pods.items():
        assert pod.info.uid == uid, f"{pod} is filed under {uid}"
        _check_pod(pod)
    _check_heap(places, places.active, State.ACTIVE)
    _check_heap(places, places.backoff, State.BACKOFF)
    _check_heap(places, places.errors, State.ERROR_BACKOFF)
    _check_pool(places)
    airborne = {uid for uid, pod in places.pods.items() if pod.state is State.IN_FLIGHT}
    assert set(flights.uids()) == airborne, "pods in flight differ from the flights recorded"
    flights.validate()


def _check_pod(pod: QueuedPod) -> None:
    assert pod.state is not State.OUTSIDE, f"{pod} is outside, yet known"
    assert (pod.state is State.GATED) == bool(pod.gated_by), f"{pod}: gated by {pod.gated_by!r}"
    if pod.state is State.ERROR_BACKOFF:
        assert not pod.refused_by, f"{pod} was refused, and waits as if after an error"
    if pod.state in (State.BACKOFF, State.UNSCHEDULABLE, State.GATED):
        assert pod.refused_by, f"{pod} was refused by nobody"


def _check_heap(places: Places, heap: Heap, state: State) -> None:
    want = {uid for uid, pod in places.pods.items() if pod.state is state}
    found = [pod.info.uid for pod in heap]
    assert len(heap) == len(found), f"{state.value}: counts {len(heap)}, holds {len(found)}"
    assert sorted(found) == sorted(want), f"{state.value}: holds {found}, not {sorted(want)}"


def _check_pool(places: Places) -> None:
    pool = places.pool
    for half, state in ((pool.unschedulable, State.UNSCHEDULABLE), (pool.gated, State.GATED)):
        want = {uid for uid, pod in places.pods.items() if pod.state is state}
        assert set(half) == want, f"{state.value}: holds {sorted(half)}, not {sorted(want)}"
    assert _indexed(pool) == _expected(pool), "pods are not indexed by who refused them"
    assert all(pool.oldest <= last_seen(pod) for pod in pool), "a pod would be flushed too late"


def _indexed(pool: Pool) -> set[tuple[object, ...]]:
    return {
        (refuser, cls.id, uid)
        for refuser, classes in pool.refused.items()
        for cls, pods in classes.items()
        for uid in pods or [None]
    }


def _expected(pool: Pool) -> set[tuple[object, ...]]:
    return {(refuser, pod.info.cls.id, pod.info.uid) for pod in pool for refuser in refusers(pod)}
