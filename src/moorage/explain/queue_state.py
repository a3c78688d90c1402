"""What a pod waits for besides a node, and its place among the waiting pods."""

from collections.abc import Iterator
from typing import Final

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.scheduling_queue import SchedulingQueue

QUOTA_PLUGIN: Final = "CapacityScheduling"
_IN_LINE: Final = frozenset(
    {State.ACTIVE, State.BACKOFF, State.ERROR_BACKOFF, State.UNSCHEDULABLE, State.IN_FLIGHT}
)


def waits_for(queue: SchedulingQueue, cache: Cache, pod: Pod, now: float) -> list[str]:
    """What the pod waits for: gates, its gang, back-off, terminating pods; a line each."""
    return list(_reasons(queue.find(pod.uid), cache, pod, now))


def _reasons(queued: QueuedPod | None, cache: Cache, pod: Pod, now: float) -> Iterator[str]:
    if queued is None:
        yield f"for scheduler {pod.spec.scheduler_name}, which has no profile here"
    else:
        if queued.gated_reason:
            yield queued.gated_reason
        if queued.state in (State.BACKOFF, State.ERROR_BACKOFF):
            left = max(0.0, (queued.backoff_until or now) - now)
            yield f"back-off after attempt {queued.attempts}, {left:.1f} s more"
    node = pod.status.nominated_node_name
    if node:
        leaving = [info for info in _pods_on(cache, node) if info.is_terminating]
        who = "1 pod is leaving" if len(leaving) == 1 else f"{len(leaving)} pods are leaving"
        yield f"preemption is under way: {who} {node}, which is promised to it"


def _pods_on(cache: Cache, node: str) -> list[Pod]:
    row = cache.table.row_of.get(node)
    return [] if row is None else [info.pod for info in cache.table.pods[row].values()]


def place_in_queue(queue: SchedulingQueue, pod: Pod, *, by_age: bool) -> tuple[int, int] | None:
    """The pod's place and the number of waiting pods; None for a pod that is not in line.

    `by_age` ranks pods by their creation times: use it if all pods have just entered the queue.
    """
    own = queue.find(pod.uid)
    if own is None or own.state not in _IN_LINE:
        return None
    line = [each for each in queue if each.state in _IN_LINE]
    seen = {each.info.uid: _created(each) if by_age else each for each in line}
    key = queue.rank(seen[pod.uid])
    ahead = sum(queue.rank(each) < key for each in seen.values())
    return ahead + 1, len(line)


def _created(queued: QueuedPod) -> QueuedPod:
    created = queued.info.pod.metadata.creation_timestamp
    return QueuedPod(queued.info, queued.entered if created is None else created.timestamp())
