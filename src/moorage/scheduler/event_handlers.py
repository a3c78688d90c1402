"""Event handlers: a change updates the cache, and is passed to the queue as events.

1. A pod bound to a node is counted there, whichever scheduler bound it.
2. A pod without a node is queued if its schedulerName is one of our profiles, else ignored.
3. A nomination is kept for any pod without a node, until its status no longer names the node.
4. A pod that has finished is treated as deleted.
"""

from collections.abc import Callable, Container
from typing import Final

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bind.permits import WaitingPods
from moorage.cache.cache import Cache
from moorage.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE
from moorage.queue import change_events
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.watch.reflector import Change

DELETED: Final = "the pod was deleted"
BEING_DELETED: Final = "the pod is being deleted"


class EventHandlers:
    """Applies changes, one after the other."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        schedulers: Container[str],
        waiting: WaitingPods,
        now: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._schedulers = schedulers
        self._waiting = waiting
        self._now = now

    def apply(self, change: Change) -> None:
        """Apply one change of any resource to the cache and the queue."""
        sample = change.new if change.new is not None else change.old
        if isinstance(sample, Pod):
            self._pod(_live(change.old), _live(change.new))
        elif isinstance(sample, Node):
            self._node(change.old, change.new)
        elif sample is not None:
            self._other(change.old, change.new)

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._pod_gone(old)
            return
        if old is not None and old.spec.node_name and not new.spec.node_name:
            self._pod_gone(old)  # a binding was undone: etcd was restored to an earlier time
            old = None
        self._nominate(new)
        if new.spec.node_name:
            self._pod_assigned(old, new)
        elif new.spec.scheduler_name in self._schedulers:
            self._pod_waiting(old, new)
        elif old is not None:
            self._note_given_up(old, new)

    def _pod_assigned(self, old: Pod | None, new: Pod) -> None:
        if old is None or not old.spec.node_name:
            self._queue.delete(new.uid)
            self._cache.nominations.remove(new.uid)
        self._cache.put_pod(new)
        self._tell(old, new)

    def _pod_waiting(self, old: Pod | None, new: Pod) -> None:
        if self._cache.node_of(new.uid) is not None:
            if new.is_terminating and (old is None or not old.is_terminating):
                self._assumed_pod_deleted(new.uid, BEING_DELETED)
            return
        info = self._cache.info(new)
        queued = self._queue.find(new.uid) if old is None else None
        if queued is not None:
            self._queue.update(queued.info.pod, info)  # an added pod that is queued: an update
        elif old is None:
            self._queue.add(info, self._now())
            self._tell(None, new)
        else:
            self._queue.update(old, info)
            self._note_given_up(old, new)

    def _pod_gone(self, old: Pod) -> None:
        was_assumed = old.uid in self._cache.assumed
        if was_assumed:
            self._assumed_pod_deleted(old.uid, DELETED)
        self._cache.nominations.remove(old.uid)
        self._cache.remove_pod(old.uid)
        if old.spec.node_name:
            self._tell(old, None)
            return
        self._queue.delete(old.uid)
        if not was_assumed and change_events.gives_up_nomination(old, None):
            self._give_up(old)

    def _assumed_pod_deleted(self, uid: str, reason: str) -> None:
        """Free the room of an assumed pod that will not be bound, so that other pods get it now.

        A pod that waits at Permit is rejected, which undoes its placement. After Permit its binding
        cannot be stopped: the pod is no longer counted, and the API server refuses the binding.
        """
        info, node = self._cache.pod(uid), self._cache.node_of(uid)
        waiting = self._waiting.get(uid)
        if waiting is not None:
            waiting.reject("", reason)
        else:
            self._cache.remove_pod(uid)
            self._cache.nominations.remove(uid)
        if info is not None and node is not None:
            left = on_node(info.pod, node)
            self._queue.move(ASSIGNED_POD_DELETE, left, None, self._now())

    def _note_given_up(self, old: Pod, new: Pod) -> None:
        if change_events.gives_up_nomination(old, new):
            taken_back = self._cache.nominations.node_of(new.uid) is None
            if not new.status.nominated_node_name:
                self._cache.nominations.remove(new.uid)
            self._give_up(old, itself=not taken_back)

    def _give_up(self, pod: Pod, *, itself: bool = True) -> None:
        """Retry pods of the same or lower priority: the room of a nomination is free.

        `itself` is False if Moorage itself withdrew the nomination. The pod is not woken then: it
        was put back at that time, and waits for the right events already.
        """
        at_most = change_events.has_priority_at_most(pod.priority)

        def only(other: Pod) -> bool:
            return at_most(other) and (itself or other.uid != pod.uid)

        self._queue.move(ASSIGNED_POD_DELETE, pod, None, self._now(), only=only)

    def _nominate(self, pod: Pod) -> None:
        node = pod.status.nominated_node_name
        if node and not pod.spec.node_name and pod.uid not in self._cache.assumed:
            self._cache.nominations.put(self._cache.info(pod), node)

    def _node(self, old: KubeObject | None, new: KubeObject | None) -> None:
        if isinstance(new, Node):
            self._cache.put_node(new)
        elif isinstance(old, Node):
            self._cache.remove_node(old)
        self._tell(old, new)

    def _other(self, old: KubeObject | None, new: KubeObject | None) -> None:
        if new is not None:
            self._cache.objects.put(new)
        elif old is not None:
            self._cache.objects.remove(old)
        self._tell(old, new)

    def _tell(self, old: KubeObject | None, new: KubeObject | None) -> None:
        for event in change_events.events_of_change(old, new):
            before = None if event is ASSIGNED_POD_ADD else old  # added to the node: no old object
            self._queue.move(event, before, new, self._now())


def on_node(pod: Pod, node: str) -> Pod:
    """A copy of a pod as if it had been bound to the node."""
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    return msgspec.structs.replace(pod, spec=spec)


def _live(obj: KubeObject | None) -> Pod | None:
    """The pod, unless it has finished."""
    return obj if isinstance(obj, Pod) and not obj.is_terminal else None
